//! Figures over HTTP.

use std::net::SocketAddr;
use std::sync::{Arc, PoisonError, RwLock};

use tiny_http::{Header, Method, Request, Response};

use crate::failure::Failure;

/// Answers requests on a thread of its own, with the text that was published last.
pub(super) struct Server {
    address: SocketAddr,
    text: Arc<RwLock<Arc<str>>>,
}

impl Server {
    /// # Errors
    /// Where nothing can be opened there.
    pub(super) fn bind(address: SocketAddr) -> Result<Self, Failure> {
        let server = tiny_http::Server::http(address).map_err(|error| {
            Failure::Failed(format!("cannot tell metrics at {address}: {error}"))
        })?;
        let address = server.server_addr().to_ip().unwrap_or(address);
        let text: Arc<RwLock<Arc<str>>> = Arc::new(RwLock::new("".into()));
        let told = Arc::clone(&text);
        std::thread::spawn(move || {
            for request in server.incoming_requests() {
                let text = Arc::clone(&told.read().unwrap_or_else(PoisonError::into_inner));
                answer(request, &text);
            }
        });
        Ok(Self { address, text })
    }

    /// Where it is, with the port that the kernel chose where 0 was asked for.
    pub(super) const fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn publish(&self, text: String) {
        *self.text.write().unwrap_or_else(PoisonError::into_inner) = text.into();
    }
}

fn answer(request: Request, text: &str) {
    let path = request.url().split('?').next().unwrap_or_default();
    let (status, text) = match (request.method(), path) {
        (Method::Get | Method::Head, "/metrics") => (200, text),
        (Method::Get | Method::Head, _) => (404, "metrics are at /metrics\n"),
        _ => (405, "metrics are read with GET\n"),
    };
    let kind = "Content-Type: text/plain; version=0.0.4; charset=utf-8";
    let mut response = Response::from_string(text).with_status_code(status);
    if let Ok(kind) = kind.parse::<Header>() {
        response.add_header(kind);
    }
    // Whoever asked may have gone away.
    let _ = request.respond(response);
}
