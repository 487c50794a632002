//! Programs of Debian's packages, and programs for its Java.

use std::path::{Path, PathBuf};

use crate::failure::{Failure, reason};
use crate::papers::programs::{CC, RecordedProgram, compilation, done, inputs, words};

/// The virtual machine for Java, with a small heap and the quick compiler, and its compiler.
const JAVA: &str = "/usr/bin/java -XX:+UseSerialGC -XX:TieredStopAtLevel=1";
const JAVAC: &str = "/usr/bin/javac";
const DERBY_CLASSES: &str = "/usr/share/java/derby.jar";

pub(super) const GCC: RecordedProgram = RecordedProgram {
    name: "gcc",
    kind: "compiling",
    represents: "gcc",
    packages: "gcc libc6-dev",
    needs: &[CC],
    work: [1, 12, 300],
    prepare: |folder, work| {
        inputs::write(folder, "zhu.c", inputs::code(work))?;
        Ok(words(&compilation("zhu")?, None))
    },
};

pub(super) const CHESS: RecordedProgram = RecordedProgram {
    name: "chess",
    kind: "chess",
    represents: "deepsjeng",
    packages: "stockfish",
    needs: &["/usr/games/stockfish"],
    work: [0, 4, 8],
    prepare: |_, work| {
        let mib = if work == 4 { 32 } else { 2_048 };
        // The engine reports on standard error.
        let script = format!("exec /usr/games/stockfish bench {mib} 1 {work} 2>/dev/null");
        Ok(["/bin/sh", "-c", &script].map(str::to_owned).to_vec())
    },
};

pub(super) const XZ: RecordedProgram = RecordedProgram {
    name: "xz",
    kind: "compression",
    represents: "xz",
    packages: "xz-utils",
    needs: &["/usr/bin/xz"],
    work: [0, 1, 20],
    prepare: |folder, work| {
        inputs::write(folder, "large", inputs::text(work << 10))?;
        Ok(words("/usr/bin/xz -k -f -T1 -9 large", None))
    },
};

pub(super) const DERBY: RecordedProgram = RecordedProgram {
    name: "derby",
    kind: "database in Java",
    represents: "derby",
    packages: "libderby-java default-jdk-headless",
    needs: &["/usr/bin/java", JAVAC, DERBY_CLASSES],
    work: [0, 100, 3_000],
    prepare: |folder, work| {
        inputs::write(folder, "Telco.java", inputs::TELCO)?;
        done(folder, JAVAC, &["Telco.java"])?;
        let heap = if work == 100 { 64 } else { 512 };
        let command = format!("{JAVA} -Xmx{heap}m -cp {DERBY_CLASSES}:. Telco");
        Ok(words(&command, work))
    },
};

pub(super) const TRADES: RecordedProgram = RecordedProgram {
    name: "trades",
    kind: "messages in Java",
    represents: "tradesoap",
    packages: "default-jdk-headless",
    needs: &["/usr/bin/java", JAVAC],
    work: [0, 400, 10_000],
    prepare: |folder, work| {
        inputs::write(folder, "Trades.java", inputs::TRADES)?;
        done(folder, JAVAC, &["Trades.java"])?;
        let heap = if work == 400 { 64 } else { 512 };
        let command = format!("{JAVA} -Xmx{heap}m Trades 500");
        Ok(words(&command, work))
    },
};

pub(super) const POSTGRESQL: RecordedProgram = RecordedProgram {
    name: "postgresql",
    kind: "relational database",
    represents: "postgresql",
    packages: "postgresql postgresql-contrib",
    needs: &[SERVERS, "/usr/bin/psql"],
    work: [0, 100, 5_000],
    prepare: bank,
};

/// The folder with one folder for each version of PostgreSQL.
const SERVERS: &str = "/usr/lib/postgresql";

/// Makes the folder of a database. The server refuses to run as root, so root runs it in a
/// namespace in which root has another number.
fn bank(folder: &Path, work: u32) -> Result<Vec<String>, Failure> {
    let programs = newest_server()?.join("bin");
    let programs = programs.to_string_lossy();
    let mut command = match rustix::process::geteuid().is_root() {
        true => words("/usr/bin/unshare -U --map-user=1000 --map-group=1000", None),
        false => vec!["/usr/bin/env".to_owned()],
    };
    let make = format!("{programs}/initdb -D bank -A trust -N -U zhu");
    let making = [command.clone(), words(&make, None)].concat();
    let arguments: Vec<&str> = making.iter().map(String::as_str).collect();
    done(folder, arguments[0], &arguments[1..])?;
    inputs::write(folder, "postgres.sh", inputs::POSTGRES)?;
    command.extend(words(&format!("/bin/sh postgres.sh {programs}"), work));
    Ok(command)
}

/// The folder of the newest version of PostgreSQL.
fn newest_server() -> Result<PathBuf, Failure> {
    let failed = |error: std::io::Error| Failure::failed(format!("{SERVERS}: {}", reason(&error)));
    let mut newest: Option<(u32, PathBuf)> = None;
    for entry in std::fs::read_dir(SERVERS).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let version = entry.file_name().to_string_lossy().parse().unwrap_or(0);
        if newest.as_ref().is_none_or(|(known, _)| version > *known) {
            newest = Some((version, entry.path()));
        }
    }
    let none = || Failure::failed(format!("{SERVERS} is empty; install postgresql"));
    newest.map(|(_, path)| path).ok_or_else(none)
}

pub(super) const REDIS: RecordedProgram = RecordedProgram {
    name: "redis",
    kind: "store of keys",
    represents: "redis",
    packages: "redis-server redis-tools",
    needs: &["/usr/bin/redis-server", "/usr/bin/redis-benchmark"],
    work: [0, 40, 500],
    prepare: |folder, work| {
        inputs::write(folder, "redis.sh", inputs::REDIS)?;
        Ok(words("/bin/sh redis.sh", work))
    },
};

pub(super) const SVM: RecordedProgram = RecordedProgram {
    name: "svm",
    kind: "support vector machine",
    represents: "svm.mnist",
    packages: "libsvm-tools",
    needs: &["/usr/bin/svm-train"],
    work: [0, 1_000, 3_000],
    prepare: |folder, work| {
        inputs::write(folder, "digits", inputs::digits(work))?;
        Ok(words("/usr/bin/svm-train -q -t 0 digits model", None))
    },
};
