//! The ten recorded programs of Talluri's kinds.

use crate::papers::programs::{CC, RecordedProgram, compilation, compiled, done, inputs, words};

pub(super) const PROGRAMS: [RecordedProgram; 10] = [
    RecordedProgram {
        name: "numpy",
        kind: "linear algebra",
        represents: "nasa7",
        packages: "python3-numpy",
        needs: &["/usr/bin/python3", "/usr/lib/python3/dist-packages/numpy"],
        work: [0, 1, 30],
        prepare: |folder, work| {
            inputs::write(folder, "power.py", inputs::POWER)?;
            Ok(words("/usr/bin/python3 power.py 2500", work))
        },
    },
    RecordedProgram {
        name: "zstd",
        kind: "compression",
        represents: "compress",
        packages: "zstd",
        needs: &["/usr/bin/zstd"],
        work: [0, 7, 100],
        prepare: |folder, work| {
            inputs::write(folder, "image", inputs::image(work))?;
            // The window is 128 MiB. Valgrind takes `rep movsb`, by which glibc copies, byte by
            // byte; processors do not.
            let command = "/usr/bin/env \
                           GLIBC_TUNABLES=glibc.cpu.x86_rep_movsb_threshold=1073741824 \
                           /usr/bin/zstd -q -f --single-thread -1 --zstd=wlog=27 image";
            Ok(words(command, None))
        },
    },
    RecordedProgram {
        name: "fftw",
        kind: "FFT",
        represents: "fftpde",
        packages: "gcc libfftw3-dev",
        needs: &[CC, "/usr/include/fftw3.h"],
        work: [0, 1, 10],
        prepare: |folder, work| {
            compiled(folder, "fft", inputs::FFT, &["-lfftw3", "-lm"])?;
            Ok(words("./fft 2048", work))
        },
    },
    RecordedProgram {
        name: "waves",
        kind: "waves",
        represents: "wave5",
        packages: "gcc libc6-dev",
        needs: &[CC],
        work: [1, 5, 53],
        prepare: |folder, work| {
            let side = if work == 1 { 300 } else { 1_600 };
            compiled(folder, "waves", inputs::WAVES, &[])?;
            Ok(words(&format!("./waves {side}"), work))
        },
    },
    RecordedProgram {
        name: "particles",
        kind: "particle simulation",
        represents: "mp3d",
        packages: "gcc libc6-dev",
        needs: &[CC],
        work: [1, 3, 28],
        prepare: |folder, work| {
            let particles = if work == 1 { 10_000 } else { 1_500_000 };
            compiled(folder, "particles", inputs::PARTICLES, &[])?;
            Ok(words(&format!("./particles {particles}"), work))
        },
    },
    RecordedProgram {
        name: "ngspice",
        kind: "circuit simulation",
        represents: "spice",
        packages: "ngspice",
        needs: &["/usr/bin/ngspice"],
        work: [0, 17, 38],
        prepare: |folder, work| {
            inputs::write(folder, "circuit.cir", inputs::circuit(work))?;
            let command = "/usr/bin/ngspice -b -r result -o log circuit.cir";
            Ok(words(command, None))
        },
    },
    RecordedProgram {
        name: "vvp",
        kind: "logic simulation",
        represents: "pthor",
        packages: "iverilog",
        needs: &["/usr/bin/iverilog", "/usr/bin/vvp"],
        work: [0, 4, 120],
        prepare: |folder, work| {
            inputs::write(folder, "logic.v", inputs::logic(work))?;
            done(folder, "/usr/bin/iverilog", &["-o", "logic.vvp", "logic.v"])?;
            Ok(words("/usr/bin/vvp logic.vvp", None))
        },
    },
    RecordedProgram {
        name: "ocaml",
        kind: "ML",
        represents: "ML",
        packages: "ocaml-interp",
        needs: &["/usr/bin/ocaml"],
        work: [0, 5_200, 90_000],
        prepare: |folder, work| {
            inputs::write(folder, "learn.ml", inputs::LEARN)?;
            let command = words("/usr/bin/ocaml learn.ml", work);
            Ok([command, vec![(work / 10).to_string()]].concat())
        },
    },
    RecordedProgram {
        name: "gcc",
        kind: "compiling",
        represents: "gcc",
        packages: "gcc libc6-dev",
        needs: &[CC],
        work: [1, 7, 80],
        prepare: |folder, work| {
            inputs::write(folder, "code.c", inputs::code(work))?;
            Ok(words(&compilation("code")?, None))
        },
    },
    RecordedProgram {
        name: "xz+gcc",
        kind: "multiprogrammed",
        represents: "compress and gcc",
        packages: "xz-utils gcc libc6-dev",
        needs: &["/usr/bin/xz", CC],
        work: [0, 4, 50],
        prepare: |folder, work| {
            inputs::write(folder, "both.c", inputs::code(work))?;
            inputs::write(folder, "both", inputs::text(20 * work))?;
            let compilation = compilation("both")?;
            let script = format!("xz -k -f -T1 -9 both & {compilation} & wait");
            Ok(["/bin/sh", "-c", &script].map(str::to_owned).to_vec())
        },
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_of_ten_kinds() {
        for (number, program) in PROGRAMS.iter().enumerate() {
            let before = &PROGRAMS[..number];
            assert!(before.iter().all(|other| other.kind != program.kind));
            assert!(before.iter().all(|other| other.name != program.name));
        }
    }
}
