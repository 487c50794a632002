//! The HTTP server for metrics. No client can make the server hold much memory or many threads, or
//! hold a place for long.

use std::convert::Infallible;
use std::future::ready;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use http_body_util::Full;
use hyper::body::{Body, Bytes};
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy, sink};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

use super::places::ClientPlaces;
use broadleaf_study::failure::Failure;

/// The most bytes of a request: its line and its headers.
pub(super) const REQUEST_BYTES: usize = 8 << 10;
/// The time a client has to send its request and to read the response.
pub(super) const CLIENT_TIME: Duration = Duration::from_secs(5);
/// Bytes read and thrown away after a refusal. A client that still sends would otherwise lose the
/// response to a reset.
const THROWN_AWAY: u64 = 64 << 10;
/// The most connections that wait in the kernel to be accepted. `net.core.somaxconn` may allow
/// fewer (4,096 by default).
const BACKLOG: i32 = 1024;
/// The wait after an error of `accept`, such as too many open files.
const AFTER_AN_ERROR: Duration = Duration::from_millis(50);

/// The age from which figures are no longer served. The service publishes once a second, unless it
/// hangs.
pub(super) const STALE: Duration = Duration::from_mins(1);

/// The text that was published last.
type PublishedText = Arc<RwLock<Option<Published>>>;

/// A text with figures.
struct Published {
    text: Bytes,
    at: Instant,
}

/// The text for a client, or the reason why there is none.
type FreshText = Result<Bytes, &'static str>;

impl Published {
    /// Returns the text if it is not too old at `now`.
    fn fresh(last: Option<&Self>, now: Instant) -> FreshText {
        let published =
            last.ok_or("no figures yet: the first search for processes has not ended\n")?;
        match now.saturating_duration_since(published.at) < STALE {
            true => Ok(published.text.clone()),
            false => Err("no figures: the service has written none for 60 s\n"),
        }
    }
}

/// Answers requests, on one thread of its own, with the text that was published last.
pub(super) struct MetricsServer {
    address: SocketAddr,
    text: PublishedText,
}

impl MetricsServer {
    /// Starts the server at `address`, on a thread of its own.
    ///
    /// # Errors
    /// If the address cannot be listened to.
    pub(super) fn bind(address: SocketAddr) -> Result<Self, Failure> {
        Self::start(address)
            .map_err(|error| Failure::Failed(format!("cannot serve metrics at {address}: {error}")))
    }

    fn start(address: SocketAddr) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind(address)?;
        // The standard library listens with a backlog of 128. A connect beyond it waits a second to
        // be sent again.
        rustix::net::listen(&listener, BACKLOG)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let text = PublishedText::default();
        let published = Arc::clone(&text);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        std::thread::Builder::new()
            .name("metrics".to_owned())
            .spawn(move || runtime.block_on(serve(listener, &published)))?;
        Ok(Self { address, text })
    }

    /// The address, with the port that the kernel chose if 0 was asked for.
    pub(super) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Publishes a text whose figures are those of the time `at`.
    pub(super) fn publish(&self, text: String, at: Instant) {
        let text = text.into();
        *self.text.write().unwrap_or_else(PoisonError::into_inner) = Some(Published { text, at });
    }
}

/// Accepts clients for ever. The newest client waits for a place, and those after it in the
/// kernel's queue.
async fn serve(listener: std::net::TcpListener, text: &PublishedText) {
    let Ok(listener) = TcpListener::from_std(listener) else {
        return;
    };
    let mut places = ClientPlaces::default();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            sleep(AFTER_AN_ERROR).await;
            continue;
        };
        places.free_one().await;
        let text = {
            let last = text.read().unwrap_or_else(PoisonError::into_inner);
            Published::fresh(last.as_ref(), Instant::now())
        };
        places.give(async move {
            // A client that is too slow is cut off without a response.
            let _ = timeout(CLIENT_TIME, answer(stream, text)).await;
        });
        // The client's task runs before its place can be taken away.
        tokio::task::yield_now().await;
    }
}

/// Answers one request and closes the connection.
async fn answer(stream: TcpStream, text: FreshText) -> io::Result<()> {
    let service = service_fn(|request| ready(Ok::<_, Infallible>(respond(&request, &text))));
    let mut connection = http1::Builder::new()
        .keep_alive(false)
        .half_close(true)
        .max_buf_size(REQUEST_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    // hyper has already answered a request that it refuses.
    let _ = (&mut connection).await;
    let mut stream = connection.into_parts().io.into_inner();
    stream.shutdown().await?;
    copy(&mut stream.take(THROWN_AWAY), &mut sink()).await?;
    Ok(())
}

fn respond(request: &Request<impl Body>, text: &FreshText) -> Response<Full<Bytes>> {
    let (status, text) = if head_bytes(request) > REQUEST_BYTES {
        let refusal = "a request has at most 8 KiB\n";
        (StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, refusal.into())
    } else if request.method() != Method::GET {
        let refusal = "metrics are read with GET\n";
        (StatusCode::METHOD_NOT_ALLOWED, refusal.into())
    } else if !request.body().is_end_stream() {
        let refusal = "a request has no body\n";
        (StatusCode::PAYLOAD_TOO_LARGE, refusal.into())
    } else if request.uri().path() != "/metrics" {
        (StatusCode::NOT_FOUND, "metrics are at /metrics\n".into())
    } else {
        match text {
            Ok(text) => (StatusCode::OK, text.clone()),
            Err(reason) => (
                StatusCode::SERVICE_UNAVAILABLE,
                Bytes::from_static(reason.as_bytes()),
            ),
        }
    };
    let mut response = Response::new(Full::new(text));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    headers.insert(CONTENT_TYPE, kind);
    if status == StatusCode::METHOD_NOT_ALLOWED {
        headers.insert(ALLOW, HeaderValue::from_static("GET"));
    }
    response
}

/// Bytes of the request line and the headers. hyper looks at its limit between two reads only, so a
/// request may exceed the limit by one read.
fn head_bytes(request: &Request<impl Body>) -> usize {
    let uri = request.uri();
    let authority = uri
        .authority()
        .map_or(0, |authority| authority.as_str().len());
    let path = uri.path_and_query().map_or(0, |path| path.as_str().len());
    // "GET", " ", the path, " HTTP/1.1\r\n"; then lines "name: value\r\n", and an empty line.
    let line = request.method().as_str().len() + authority + path + 12;
    let headers = request.headers().iter();
    let headers = headers.map(|(name, value)| name.as_str().len() + value.len() + 4);
    line + headers.sum::<usize>() + 2
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
