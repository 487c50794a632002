//! Reading an address, and bringing a file from it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use broadleaf_report::number::grouped;
use sha2::{Digest, Sha256};

use super::address::Address;
use crate::failure::Failure;
use crate::output::shown;
use crate::watch::{Watch, Work};

/// The bytes that are read at once.
const BUFFER: usize = 1 << 18;
/// The ending of a file that was fetched in part.
const PART: &str = "part";
/// The status of an answer that holds a part of a file.
const PARTIAL: u16 = 206;
/// The status if nothing is left of a file after the first bytes.
const NOTHING_LEFT: u16 = 416;

/// A client of web servers.
#[derive(Debug)]
pub(super) struct Web(ureq::Agent);

/// Bytes of an address, from some byte on.
struct Answer {
    bytes: Box<dyn Read>,
    /// The first byte of the file that is in the answer.
    from: u64,
    /// The bytes of the whole file, if they are known.
    whole: Option<u64>,
}

impl Web {
    pub(super) fn new() -> Self {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .user_agent(concat!("broadleaf/", env!("CARGO_PKG_VERSION")))
            .build();
        Self(config.into())
    }

    /// Reads the whole of an address.
    ///
    /// # Errors
    /// The address cannot be read, or holds more than `most` bytes.
    pub(super) fn read(&self, address: &Address, most: u64) -> Result<Vec<u8>, Failure> {
        let shown = address.shown();
        let mut bytes = Vec::new();
        let answer = self.open(address, 0)?.bytes;
        let read = answer.take(most + 1).read_to_end(&mut bytes);
        read.map_err(|error| Failure::reading(&shown, &error))?;
        match bytes.len() as u64 > most {
            true => Err(Failure::Wrong(format!(
                "{shown}: has more than {} bytes, so it is no catalogue",
                grouped(most)
            ))),
            false => Ok(bytes),
        }
    }

    /// Opens an address at a byte. The server may begin at the first byte instead.
    fn open(&self, address: &Address, from: u64) -> Result<Answer, Failure> {
        let shown = address.shown();
        let cannot = |reason: &str| Failure::Failed(format!("{shown}: cannot read it: {reason}"));
        let address = match address {
            Address::File(path) => {
                let file = File::open(path).map_err(|error| Failure::reading(&shown, &error))?;
                let whole = file.metadata().map(|metadata| metadata.len()).ok();
                return Ok(Answer {
                    bytes: Box::new(file),
                    from: 0,
                    whole,
                });
            }
            Address::Web(address) => address,
        };
        let mut request = self.0.get(address);
        if from > 0 {
            request = request.header("Range", format!("bytes={from}-"));
        }
        let answer = request.call().map_err(|error| cannot(&error.to_string()))?;
        let status = answer.status();
        if from > 0 && status.as_u16() == NOTHING_LEFT {
            return self.open(&Address::Web(address.clone()), 0);
        }
        if !status.is_success() {
            return Err(cannot(&format!("the server answered {status}")));
        }
        let length = answer.body().content_length();
        let from = match status.as_u16() {
            PARTIAL => from,
            _ => 0,
        };
        Ok(Answer {
            bytes: Box::new(answer.into_body().into_reader()),
            from,
            whole: length.map(|length| length + from),
        })
    }
}

/// A file to bring.
pub(super) struct Download<'a> {
    pub(super) from: Address,
    pub(super) to: &'a Path,
    /// The size that the catalogue says.
    pub(super) bytes: Option<u64>,
    /// The checksum that the catalogue says, in hexadecimal.
    pub(super) sha256: Option<&'a str>,
    pub(super) watch: &'a dyn Watch,
}

impl Download<'_> {
    /// Brings the file. Returns true if it was there already.
    ///
    /// # Errors
    /// The address cannot be read, the file cannot be written, or it is another one than the
    /// catalogue says. A file with a part of the bytes stays, and the next call goes on with it.
    pub(super) fn run(&self, web: &Web) -> Result<bool, Failure> {
        if self.to.exists() {
            let found = self.checked(self.to);
            return found.map(|()| true).map_err(|reason| {
                Failure::Wrong(format!(
                    "{}: is there already, and {reason}: move it away, then try again",
                    shown(self.to)
                ))
            });
        }
        let part = self.part();
        self.fetch(web, &part)?;
        if let Err(reason) = self.checked(&part) {
            // A longer attempt would go on with wrong bytes.
            let _ = fs::remove_file(&part);
            let from = self.from.shown();
            return Err(Failure::Failed(format!("{from}: {reason}")));
        }
        let renamed = fs::rename(&part, self.to);
        renamed.map_err(|error| Failure::writing(&shown(self.to), &error))?;
        Ok(false)
    }

    fn part(&self) -> PathBuf {
        let mut name = self.to.as_os_str().to_owned();
        name.push(".");
        name.push(PART);
        PathBuf::from(name)
    }

    /// Appends the rest of the file to `part`.
    fn fetch(&self, web: &Web, part: &Path) -> Result<(), Failure> {
        let cannot_write = |error: io::Error| Failure::writing(&shown(part), &error);
        // Without a checksum, the rest could be that of a newer file.
        let had = match self.sha256 {
            Some(_) => part.metadata().map_or(0, |metadata| metadata.len()),
            None => 0,
        };
        if self.bytes.is_some_and(|bytes| bytes == had) && had > 0 {
            return Ok(());
        }
        let mut answer = web.open(&self.from, had)?;
        let mut file = OpenOptions::new().create(true).append(true).open(part);
        if answer.from == 0 {
            file = File::create(part);
        }
        let mut file = file.map_err(cannot_write)?;
        let whole = answer.whole.or(self.bytes);
        let bar = self
            .watch
            .begin("fetching", whole.map_or(Work::Unknown, Work::Bytes));
        let mut done = answer.from;
        let mut buffer = vec![0; BUFFER];
        loop {
            if self.watch.is_stopped() {
                return Err(Failure::Failed(format!(
                    "{}: stopped; {}",
                    shown(part),
                    self.next()
                )));
            }
            let read = match answer.bytes.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(self.broken(done, &error.to_string())),
            };
            file.write_all(&buffer[..read]).map_err(cannot_write)?;
            done += read as u64;
            bar.set(done, 0);
        }
        match answer.whole {
            Some(whole) if done < whole => Err(self.broken(done, "the connection ended")),
            _ => Ok(()),
        }
    }

    /// The effect of the same command later.
    const fn next(&self) -> &'static str {
        match self.sha256 {
            Some(_) => "what was fetched is kept, and the same command goes on",
            None => "the same command begins again, as the catalogue has no checksum",
        }
    }

    fn broken(&self, done: u64, reason: &str) -> Failure {
        Failure::Failed(format!(
            "{}: after {} bytes: {reason}; {}",
            self.from.shown(),
            grouped(done),
            self.next()
        ))
    }

    /// Compares a file with the catalogue's size and checksum.
    fn checked(&self, path: &Path) -> Result<(), String> {
        let cannot = |error: io::Error| format!("it cannot be read: {error}");
        let bytes = path.metadata().map_err(cannot)?.len();
        if let Some(expected) = self.bytes.filter(|expected| *expected != bytes) {
            let (bytes, expected) = (grouped(bytes), grouped(expected));
            return Err(format!(
                "it has {bytes} bytes, and the catalogue says {expected}"
            ));
        }
        let Some(expected) = self.sha256 else {
            return Ok(());
        };
        let mut file = BufReader::new(File::open(path).map_err(cannot)?);
        let mut hasher = Sha256::new();
        let mut buffer = vec![0; BUFFER];
        loop {
            let read = file.read(&mut buffer).map_err(cannot)?;
            if read == 0 {
                break;
            }
            hasher.update(&buffer[..read]);
        }
        let sum = hasher.finalize();
        let sum: String = sum.iter().map(|byte| format!("{byte:02x}")).collect();
        match sum == expected {
            true => Ok(()),
            false => Err(format!(
                "its SHA-256 is {sum}, and the catalogue says {expected}"
            )),
        }
    }
}
