//! The limits of the server, each from the outside.

use super::super::places::CLIENTS;
use super::*;
use std::io::{Read, Write};
use std::net::TcpStream as Client;
use std::time::Instant;

fn server(text: &str) -> MetricsServer {
    let server = MetricsServer::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    server.publish(text.to_owned(), Instant::now());
    server
}

fn connect(server: &MetricsServer) -> Client {
    let client = Client::connect(server.address()).unwrap();
    client.set_read_timeout(Some(2 * CLIENT_TIME)).unwrap();
    client
}

/// The status of the response to these bytes, and its body.
fn asked(server: &MetricsServer, request: &str) -> (String, String) {
    let mut client = connect(server);
    // The server may refuse before it has read everything.
    let _ = client.write_all(request.as_bytes());
    let mut response = Vec::new();
    let _ = client.read_to_end(&mut response);
    let response = String::from_utf8(response).unwrap();
    let (head, body) = response.split_once("\r\n\r\n").unwrap_or_default();
    let status = head.split(' ').nth(1).unwrap_or_default();
    (status.to_owned(), body.to_owned())
}

fn status(server: &MetricsServer, request: &str) -> String {
    asked(server, request).0
}

/// Returns a GET request of exactly `bytes` bytes.
fn request_of(bytes: usize) -> String {
    let (begin, end) = ("GET /metrics HTTP/1.1\r\nx: ", "\r\n\r\n");
    let filler = "x".repeat(bytes - begin.len() - end.len());
    format!("{begin}{filler}{end}")
}

#[test]
fn only_get_is_answered_and_only_at_one_path() {
    let server = server("figure 1\n");
    let get = asked(&server, "GET /metrics?x=y HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(get, ("200".to_owned(), "figure 1\n".to_owned()));
    assert_eq!(status(&server, "GET / HTTP/1.1\r\n\r\n"), "404");
    for method in ["HEAD", "POST", "PUT", "DELETE", "OPTIONS", "BREW"] {
        let request = format!("{method} /metrics HTTP/1.1\r\n\r\n");
        assert_eq!(status(&server, &request), "405", "{method}");
    }
}

/// Probes of Kubernetes ask for the status only.
#[test]
fn without_figures_or_with_old_ones_the_status_is_503() {
    let get = "GET /metrics HTTP/1.1\r\n\r\n";
    let server = MetricsServer::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let (status, body) = asked(&server, get);
    assert_eq!(status, "503");
    assert!(body.starts_with("no figures yet"), "{body}");
    let now = Instant::now();
    server.publish("figure 1\n".to_owned(), now);
    assert_eq!(
        asked(&server, get),
        ("200".to_owned(), "figure 1\n".to_owned())
    );
    let last = Some(Published {
        text: "figure 1\n".into(),
        at: now,
    });
    let at = |age| Published::fresh(last.as_ref(), now + age);
    assert!(at(STALE - Duration::from_millis(1)).is_ok());
    assert_eq!(
        at(STALE),
        Err("no figures: the service has written none for 60 s\n")
    );
    // Other refusals come first.
    let response = |request: &str| {
        let request = Request::get(request).body(String::new()).unwrap();
        respond(&request, &at(STALE)).status().as_u16()
    };
    assert_eq!((response("/metrics"), response("/")), (503, 404));
}

#[test]
fn a_request_has_at_most_8_kib_and_no_body() {
    let server = server("figure 1\n");
    assert_eq!(status(&server, &request_of(REQUEST_BYTES)), "200");
    assert_eq!(status(&server, &request_of(REQUEST_BYTES + 1)), "431");
    assert_eq!(status(&server, &request_of(1 << 20)), "431");
    let many = "a: b\r\n".repeat(1000);
    let many = format!("GET /metrics HTTP/1.1\r\n{many}\r\n");
    assert_eq!(status(&server, &many), "431");
    let path = "x".repeat(REQUEST_BYTES);
    let long = status(&server, &format!("GET /{path} HTTP/1.1\r\n\r\n"));
    assert!(long == "431" || long == "414", "{long}");
    for length in ["Content-Length: 1", "Transfer-Encoding: chunked"] {
        let request = format!("GET /metrics HTTP/1.1\r\n{length}\r\n\r\n");
        assert_eq!(status(&server, &request), "413", "{length}");
    }
    // The request that ended the service before.
    let post = "POST /metrics HTTP/1.1\r\nContent-Length: 99999999999999\r\n\r\n";
    assert_eq!(status(&server, post), "405");
    assert_eq!(status(&server, &request_of(100)), "200");
}

#[test]
fn a_connection_is_for_one_request() {
    let server = server("figure 1\n");
    let request = "GET /metrics HTTP/1.1\r\n\r\n".repeat(1000);
    let (status, body) = asked(&server, &request);
    assert_eq!((status.as_str(), body.as_str()), ("200", "figure 1\n"));
}

#[test]
fn a_client_has_five_seconds() {
    let server = server(&"figure 1\n".repeat(4 << 20));
    let began = Instant::now();
    let mut half = connect(&server);
    half.write_all(b"GET /metrics HTTP/1.1\r\n").unwrap();
    // This client keeps its request alive, a byte at a time.
    let mut slow = connect(&server);
    slow.set_nodelay(true).unwrap();
    // This one reads nothing of 36 MiB.
    let mut deaf = connect(&server);
    deaf.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
    while slow.write_all(b"x").is_ok() && began.elapsed() < 2 * CLIENT_TIME {
        std::thread::sleep(Duration::from_millis(100));
    }
    let taken = began.elapsed();
    let times = CLIENT_TIME..CLIENT_TIME + Duration::from_secs(3);
    assert!(times.contains(&taken), "{taken:?}");
    assert!(
        matches!(half.read(&mut [0]), Ok(0)),
        "closed without a word"
    );
    let mut response = Vec::new();
    let _ = deaf.read_to_end(&mut response);
    assert!(response.len() < 36 << 20, "cut off");
}

#[test]
fn slow_clients_do_not_keep_others_waiting() {
    let server = server("figure 1\n");
    let clients: Vec<Client> = (0..10 * CLIENTS).map(|_| connect(&server)).collect();
    for mut client in &clients {
        // Some have lost their place already.
        let _ = client.write_all(b"GET /metrics HTTP/1.1\r\n");
    }
    let began = Instant::now();
    assert_eq!(status(&server, "GET /metrics HTTP/1.1\r\n\r\n"), "200");
    assert!(began.elapsed() < Duration::from_secs(1));
    let is_open = |mut client: &Client| {
        client.set_nonblocking(true).unwrap();
        let read = client.read(&mut [0]);
        read.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
    };
    let open = clients.iter().filter(|client| is_open(client)).count();
    assert!(open <= CLIENTS, "{open} are connected");
}

#[test]
fn a_flood_of_clients_does_not_delay_connects() {
    let server = server("figure 1\n");
    let clients = (0..400).map(|_| {
        let began = Instant::now();
        (connect(&server), began.elapsed())
    });
    let (_clients, times): (Vec<_>, Vec<_>) = clients.unzip();
    // A connect that the kernel drops is sent again after a second.
    let longest = times.into_iter().max().unwrap();
    assert!(longest < Duration::from_millis(900), "{longest:?}");
}
