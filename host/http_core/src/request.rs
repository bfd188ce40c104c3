//! Parsing of requests.

/// Limit of the request line and the headers in bytes.
pub const MOST_HEAD: usize = 8192;
/// Limit of header fields.
const MOST_HEADERS: usize = 64;

/// Request methods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// GET.
    Get,
    /// HEAD: GET without the body.
    Head,
    /// POST.
    Post,
    /// Any other.
    Other,
}

/// A request.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Method.
    pub method: Method,
    /// Target without its query: `/show/version`.
    pub path: &'a str,
    /// Query after `?`; empty if there is none.
    pub query: &'a str,
    headers: &'a [httparse::Header<'a>],
    /// Body.
    pub body: &'a [u8],
    /// Whether the connection is kept open for another request.
    pub is_kept: bool,
}

impl<'a> Request<'a> {
    /// The value of a header field that occurs exactly once.
    pub fn header(&self, name: &str) -> Option<&'a str> {
        let mut found = self.headers.iter().filter(|h| h.name.eq_ignore_ascii_case(name));
        let value = found.next()?.value;
        if found.next().is_some() {
            return None;
        }
        std::str::from_utf8(value).ok().map(str::trim)
    }
    /// Whether a header field is present.
    pub fn has_header(&self, name: &str) -> bool {
        self.headers.iter().any(|h| h.name.eq_ignore_ascii_case(name))
    }
}

/// Error status of a request that is not passed to the site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused(pub u16);

/// Outcome of parsing a request.
#[derive(Debug)]
pub enum Outcome<R> {
    /// More bytes are needed: so many at least, from the first one on, once the header is complete.
    Partial(Option<usize>),
    /// The request is complete: its length in bytes, and the result of `answer`.
    Complete(usize, R),
    /// The request is invalid; the connection is closed with this status.
    Refused(Refused),
}

/// Parses the first request in `bytes`, with at most `most_body` bytes of body, and passes it to
/// `answer`.
pub fn read<R>(
    bytes: &[u8],
    most_body: usize,
    answer: impl FnOnce(&Request<'_>) -> R,
) -> Outcome<R> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    let head = match parsed.parse(bytes) {
        Ok(httparse::Status::Complete(head)) => head,
        Ok(httparse::Status::Partial) if bytes.len() >= MOST_HEAD => {
            return Outcome::Refused(Refused(431));
        }
        Ok(httparse::Status::Partial) => return Outcome::Partial(None),
        Err(httparse::Error::TooManyHeaders) => return Outcome::Refused(Refused(431)),
        Err(_) => return Outcome::Refused(Refused(400)),
    };
    if head > MOST_HEAD {
        return Outcome::Refused(Refused(431));
    }
    let is_new = parsed.version == Some(1);
    let method = match parsed.method {
        Some("GET") => Method::Get,
        Some("HEAD") => Method::Head,
        Some("POST") => Method::Post,
        _ => Method::Other,
    };
    let target = parsed.path.unwrap_or("/");
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let headers = &*parsed.headers;
    let mut request = Request { method, path, query, headers, body: &[], is_kept: is_new };
    let len = match body_len(&request) {
        Ok(len) if len > most_body => return Outcome::Refused(Refused(413)),
        Ok(len) => len,
        Err(refused) => return Outcome::Refused(refused),
    };
    let Some(body) = bytes.get(head..head + len) else {
        return Outcome::Partial(Some(head + len));
    };
    request.body = body;
    // HTTP/1.1 requires a Host header (RFC 9112 3.2).
    if is_new && request.header("host").is_none() {
        return Outcome::Refused(Refused(400));
    }
    let connection = request.header("connection").unwrap_or_default();
    let says = |word: &str| connection.split(',').any(|w| w.trim().eq_ignore_ascii_case(word));
    request.is_kept = if is_new { !says("close") } else { says("keep-alive") };
    Outcome::Complete(head + len, answer(&request))
}

/// Why bytes cannot be the beginning of a request.
pub fn refused(bytes: &[u8]) -> Option<Refused> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let parsed = httparse::Request::new(&mut headers).parse(bytes);
    parsed.is_err().then_some(Refused(400))
}

/// Length of the body in bytes (RFC 9112 6.3). Two lengths, or a length together with a transfer
/// coding, could be used for request smuggling and are refused.
fn body_len(request: &Request<'_>) -> Result<usize, Refused> {
    if request.has_header("transfer-encoding") {
        let is_both = request.has_header("content-length");
        return Err(Refused(if is_both { 400 } else { 411 }));
    }
    if !request.has_header("content-length") {
        return Ok(0);
    }
    let len = request.header("content-length").ok_or(Refused(400))?;
    let is_number = !len.is_empty() && len.bytes().all(|byte| byte.is_ascii_digit());
    let number = is_number.then(|| len.parse().ok()).flatten();
    number.ok_or(Refused(400))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(text: &str) -> String {
        let seen = |r: &Request<'_>| {
            format!("{:?} {} {} {:?} {}", r.method, r.path, r.query, r.body, r.is_kept)
        };
        match read(text.as_bytes(), 16, seen) {
            Outcome::Partial(_) => "partial".to_owned(),
            Outcome::Complete(len, seen) => format!("{len} {seen}"),
            Outcome::Refused(Refused(status)) => status.to_string(),
        }
    }

    #[test]
    fn requests_are_read_in_any_pieces() {
        let whole = "POST /a/b?c=d HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi";
        for len in 0..whole.len() {
            assert_eq!(outcome(&whole[..len]), "partial", "{len}");
        }
        let seen = "Post /a/b c=d [104, 105] true";
        assert_eq!(outcome(whole), format!("{} {seen}", whole.len()));
        assert_eq!(outcome(&format!("{whole}GET /")), format!("{} {seen}", whole.len()));
    }

    #[test]
    fn connections_are_kept_as_versions_have_it() {
        let kept = |text: &str| outcome(text).ends_with("true");
        assert!(kept("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
        assert!(!kept("GET / HTTP/1.1\r\nHost: x\r\nConnection: Close\r\n\r\n"));
        assert!(!kept("GET / HTTP/1.0\r\n\r\n"));
        assert!(kept("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        let long = format!("GET /{} HTTP/1.1\r\nHost: x\r\n\r\n", "x".repeat(MOST_HEAD));
        let many = "a: b\r\n".repeat(MOST_HEADERS + 1);
        for (text, status) in [
            ("GET / HTTP/1.1\r\n\r\n", "400"),
            ("GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", "400"),
            ("GET / HTTP/9\r\n\r\n", "400"),
            ("\u{1}\r\n\r\n", "400"),
            ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 17\r\n\r\n", "413"),
            ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: +1\r\n\r\n", "400"),
            ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", "400"),
            ("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", "411"),
            (&long, "431"),
            (&format!("GET / HTTP/1.1\r\nHost: x\r\n{many}\r\n"), "431"),
        ] {
            assert_eq!(outcome(text), status, "{text:.60}");
        }
    }
}
