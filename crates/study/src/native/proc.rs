//! The facts of cores in the files of Linux: MIDR of Arm cores, and names of others.

use std::fs;
use std::path::Path;

use broadleaf_machine::{CoreFacts, CoreIdentity};

/// The keys of /proc/cpuinfo that name a core: POWER, and RISC-V.
const NAMES: &[&str] = &["cpu", "uarch"];

/// The facts of each processor. `root` is the root of the file system.
#[cfg_attr(any(target_arch = "x86", target_arch = "x86_64"), allow(dead_code))]
pub(super) fn cores(root: &Path) -> Vec<(usize, CoreFacts)> {
    let cpuinfo = fs::read_to_string(root.join("proc/cpuinfo")).unwrap_or_default();
    let mut cores = of_cpuinfo(&cpuinfo);
    for (cpu, facts) in &mut cores {
        let file = format!("sys/devices/system/cpu/cpu{cpu}/regs/identification/midr_el1");
        let text = fs::read_to_string(root.join(file)).unwrap_or_default();
        if let Some(midr) = hexadecimal(&text) {
            *facts = CoreFacts::of(CoreIdentity::Midr(midr));
        }
    }
    cores
}

fn hexadecimal(text: &str) -> Option<u64> {
    let digits = text.trim().strip_prefix("0x")?;
    u64::from_str_radix(digits, 16).ok()
}

/// The cores in the text of /proc/cpuinfo: a paragraph for each.
fn of_cpuinfo(text: &str) -> Vec<(usize, CoreFacts)> {
    let paragraphs = text.split("\n\n").filter_map(|paragraph| {
        let lines = paragraph.lines().filter_map(|line| line.split_once(':'));
        let lines: Vec<(&str, &str)> = lines
            .map(|(key, value)| (key.trim(), value.trim()))
            .collect();
        let value = |key: &str| {
            let found = lines.iter().find(|(known, _)| *known == key);
            found.map(|(_, value)| *value)
        };
        let cpu = value("processor")?.parse().ok()?;
        let field = |key: &str| value(key).and_then(hexadecimal);
        let identity = match (field("CPU implementer"), field("CPU part")) {
            (Some(implementer), Some(part)) => CoreIdentity::Midr(implementer << 24 | part << 4),
            _ => {
                let name = NAMES.iter().find_map(|key| value(key));
                // "POWER9, altivec supported" is a name and its features.
                let name = name.unwrap_or("").split(", ").next().unwrap_or("");
                CoreIdentity::Name(name.to_owned())
            }
        };
        Some((cpu, CoreFacts::of(identity)))
    });
    paragraphs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_machine::native_machine;

    fn machines(cores: &[(usize, CoreFacts)]) -> Vec<(usize, Option<&'static str>)> {
        let fit = |facts| native_machine(facts).ok().map(|fit| fit.machine);
        cores
            .iter()
            .map(|(cpu, facts)| (*cpu, fit(facts)))
            .collect()
    }

    #[test]
    fn cores_of_proc_are_read_each() {
        let arm = "processor\t: 0\nCPU implementer\t: 0x41\nCPU variant\t: 0x3\nCPU part\t: \
                   0xd0c\n\nprocessor\t: 1\nCPU implementer\t: 0x41\nCPU part\t: 0xd05\n";
        let wanted = [(0, Some("neoverse-n1-aggregating")), (1, None)];
        assert_eq!(machines(&of_cpuinfo(arm)), wanted);
        let power = "processor\t: 0\ncpu\t\t: POWER9, altivec supported\n\nprocessor\t: 4\n\
                     cpu\t\t: POWER9 (raw), altivec supported\n\ntimebase\t: 512000000\n";
        let wanted = [(0, Some("power9-radix")), (4, None)];
        assert_eq!(machines(&of_cpuinfo(power)), wanted);
        let riscv = "processor\t: 3\nhart\t: 0\nisa\t: rv64imafdc\nuarch\t: thead,c910\n";
        assert_eq!(machines(&of_cpuinfo(riscv)), [(3, Some("c910"))]);
        assert_eq!(machines(&of_cpuinfo("")), []);
        let odd = "processor : x\n\nprocessor : 1\nCPU implementer : 41\n";
        assert_eq!(machines(&of_cpuinfo(odd)), [(1, None)]);
    }

    #[test]
    fn the_register_is_read_for_each_core() {
        let root = tempfile::tempdir().expect("a folder");
        let write = |file: &str, text: &str| {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        };
        write(
            "proc/cpuinfo",
            "processor\t: 0\n\nprocessor\t: 1\n\nprocessor : 2\n",
        );
        let register = |cpu: usize, text: &str| {
            let file = format!("sys/devices/system/cpu/cpu{cpu}/regs/identification/midr_el1");
            write(&file, text);
        };
        register(0, "0x00000000410fd4f0\n");
        register(1, "0x00000000410fd490\n");
        register(2, "none\n");
        let wanted = [
            (0, Some("neoverse-v2")),
            (1, Some("neoverse-n2")),
            (2, None),
        ];
        assert_eq!(machines(&cores(root.path())), wanted);
        assert_eq!(cores(&root.path().join("nothing")), []);
    }
}
