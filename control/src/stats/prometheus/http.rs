//! One page over HTTP/1.1, a connection each time.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{self, AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

use super::Source;
use super::text::Format;

/// Connections served at a time; others wait.
const MOST: usize = 16;
/// Bytes of a request at most.
const REQUEST: usize = 16 * 1024;
/// Longest duration of a request and its answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Answers connections.
pub(super) async fn serve(socket: TcpListener, source: Source) {
    let Ok(socket) = tokio::net::TcpListener::from_std(socket) else { return };
    let (source, places) = (Arc::new(source), Arc::new(Semaphore::new(MOST)));
    while let Ok(place) = Arc::clone(&places).acquire_owned().await {
        match socket.accept().await {
            Ok((stream, _)) => {
                let source = Arc::clone(&source);
                tokio::spawn(async move {
                    // Clients that have disconnected or are too slow get nothing.
                    let _ = timeout(PATIENCE, converse(stream, &source)).await;
                    drop(place);
                });
            }
            // No descriptors for the moment.
            Err(_) => sleep(Duration::from_millis(100)).await,
        }
    }
}

async fn converse(mut stream: TcpStream, source: &Source) -> io::Result<()> {
    let mut request = Vec::new();
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        let more = stream.read_buf(&mut request).await?;
        if more == 0 || request.len() > REQUEST {
            break;
        }
    }
    let answer = answer(&String::from_utf8_lossy(&request), source);
    stream.write_all(answer.as_bytes()).await?;
    stream.shutdown().await
}

/// The whole answer to a request.
fn answer(request: &str, source: &Source) -> String {
    let mut lines = request.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (method, target, version) = (words.next(), words.next(), words.next());
    let path = target.unwrap_or_default().split('?').next().unwrap_or_default();
    let (method, version) = (method.unwrap_or_default(), version.unwrap_or_default());
    let plain = Format::Prometheus.content_type();
    let (status, kind, body) = match (method, path) {
        _ if !version.starts_with("HTTP/1.") => ("400 Bad Request", plain, String::new()),
        ("GET" | "HEAD", "/metrics") => {
            let wants = |line: &str| {
                let (name, value) = line.split_once(':').unwrap_or_default();
                name.eq_ignore_ascii_case("accept") && value.contains(Format::OPEN_METRICS)
            };
            let is_open = lines.any(wants);
            let format = if is_open { Format::OpenMetrics } else { Format::Prometheus };
            match source.render(format) {
                Ok(text) => ("200 OK", format.content_type(), text),
                Err(e) => ("503 Service Unavailable", plain, format!("# {e}\n")),
            }
        }
        ("GET" | "HEAD", _) => ("404 Not Found", plain, "# only /metrics is served\n".to_owned()),
        _ => ("405 Method Not Allowed", plain, String::new()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        body.len()
    );
    if method == "HEAD" { head } else { head + &body }
}

#[cfg(test)]
mod tests {
    use super::{Source, answer};
    use crate::stats::gauges::Published;
    use crate::stats::{HEARTBEAT, Segment};

    #[test]
    fn requests_are_answered() {
        let segment = Segment::new(1, None).unwrap();
        segment.set(HEARTBEAT, 9);
        let source = Source::new(segment.readable().unwrap(), Published::default()).unwrap();
        let ask = |request: &str| answer(request, &source);
        let page = ask("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
        assert!(page.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4"));
        assert!(page.contains("\nferrovia_heartbeat_total 9\n"), "{page}");
        let (head, body) = page.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("Content-Length: {}", body.len())));
        let open = ask("GET /metrics HTTP/1.1\r\naccept: application/openmetrics-text\r\n\r\n");
        assert!(open.contains("Content-Type: application/openmetrics-text; version=1.0.0"));
        assert!(open.ends_with("\n# EOF\n"));
        assert!(ask("HEAD /metrics HTTP/1.0\r\n\r\n").ends_with("\r\n\r\n"));
        for (request, status) in [
            ("GET / HTTP/1.1\r\n\r\n", "404 Not Found"),
            ("POST /metrics HTTP/1.1\r\n\r\n", "405 Method Not Allowed"),
            ("GET /metrics\r\n\r\n", "400 Bad Request"),
            ("", "400 Bad Request"),
        ] {
            assert!(ask(request).starts_with(&format!("HTTP/1.1 {status}\r\n")), "{request}");
        }
    }
}
