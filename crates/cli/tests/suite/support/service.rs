//! Services that run, and scrapes of their metrics.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use super::broadleaf;
use super::live::eventually;

/// A running service, and its output so far.
pub(crate) struct Service {
    pub(crate) child: Child,
    said: Arc<Mutex<String>>,
}

impl Service {
    pub(crate) fn start(rules: &str, options: &[&str]) -> Self {
        Self::spawn(&mut broadleaf(&[&["service", rules], options].concat()))
    }

    /// Starts a command that is a service.
    pub(crate) fn spawn(command: &mut Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let said = Arc::new(Mutex::new(String::new()));
        let (out, to) = (child.stderr.take().unwrap(), Arc::clone(&said));
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                to.lock().unwrap().push_str(&format!("{line}\n"));
            }
        });
        Self { child, said }
    }

    pub(crate) fn said(&self) -> String {
        self.said.lock().unwrap().clone()
    }

    /// Waits until it has said something, and says all of it.
    pub(crate) fn says(&self, words: &str) -> String {
        eventually(|| Some(self.said()).filter(|said| said.contains(words)))
    }

    pub(crate) fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        Command::new("kill").args([signal, &pid]).status().unwrap();
    }

    /// Asks it to end, and says what it said.
    pub(crate) fn end(mut self) -> String {
        self.signal("-TERM");
        let status = self.child.wait().unwrap();
        assert_eq!(status.code(), Some(0), "{}", self.said());
        self.says("policy")
    }

    /// The address of its metrics.
    pub(crate) fn address(&self) -> String {
        let said = self.says("/metrics\n");
        let from = said.find("http://").expect("an address") + "http://".len();
        let until = said.find("/metrics").expect("a path");
        said[from..until].to_owned()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An answer to a request, head and body.
pub(crate) fn fetched(address: &str, request: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    let words = format!("{request} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(words.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").expect("an answer");
    (head.to_owned(), body.to_owned())
}

/// The value of the sample that begins so.
pub(crate) fn sample(metrics: &str, begin: &str) -> Option<f64> {
    let line = metrics.lines().find(|line| line.starts_with(begin))?;
    line.rsplit(' ').next()?.parse().ok()
}
