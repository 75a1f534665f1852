//! As much of HTTP/1.1 as a scrape needs: one GET a connection.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use crate::scrape::Kind;

/// Answers the request on a connection with what `scrape` makes.
pub(crate) fn answer(
    stream: &TcpStream,
    scrape: impl FnOnce(Kind) -> io::Result<Vec<u8>>,
) -> io::Result<()> {
    let patience = Some(Duration::from_secs(10));
    stream.set_read_timeout(patience)?;
    stream.set_write_timeout(patience)?;
    // No request that is meant for this service is longer.
    let mut request = BufReader::new(stream.take(8192));
    let mut line = String::new();
    request.read_line(&mut line)?;
    let mut words = line.split_whitespace();
    let (method, path) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
    let mut header = String::new();
    while request.read_line(&mut header)? > 2 {
        header.clear();
    }
    let known = match path.split('?').next() {
        Some("/debug/heap-profile.pprof") => Some((Kind::Pprof, "application/octet-stream")),
        Some("/debug/heap-profile.folded") => Some((Kind::Folded, "text/plain; charset=utf-8")),
        _ => None,
    };
    let (status, kind, body) = match (method, known) {
        ("GET", Some((kind, text))) => match scrape(kind) {
            Ok(body) => ("200 OK", text, body),
            Err(error) => {
                ("500 Internal Server Error", "text/plain", format!("{error}\n").into_bytes())
            }
        },
        ("GET", None) => (
            "404 Not Found",
            "text/plain",
            b"expected /debug/heap-profile.pprof or /debug/heap-profile.folded\n".to_vec(),
        ),
        _ => ("405 Method Not Allowed", "text/plain", b"expected GET\n".to_vec()),
    };
    let mut stream = stream;
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    )?;
    stream.write_all(&body)
}
