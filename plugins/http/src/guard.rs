//! The access checks: caller, page of origin, and name of the router.
//!
//! * `Host` has to be a name of the router or an address: a page of another site whose name
//!   suddenly resolves to the router's address (DNS rebinding) is refused.
//! * `Origin`, which browsers send with requests of a page, has to be the console's own.
//! * The token is in `Authorization`, which no form and no image can send, so forged requests
//!   (CSRF) are impossible.

use std::net::IpAddr;

use hyper::StatusCode;
use hyper::header::{AUTHORIZATION, HOST, HeaderMap, ORIGIN};

use crate::tokens::{Holder, Tokens};

/// The rules at an address.
pub struct Guard {
    /// Tokens; `None` where the permissions of the socket decide.
    pub tokens: Option<Tokens>,
    /// Further names of the router, in small letters.
    pub names: Vec<String>,
    /// Whether clients come over TLS.
    pub is_tls: bool,
}

/// A refusal: status, and the reason in words.
pub type Refusal = (StatusCode, &'static str);

impl Guard {
    /// Refuses requests of pages of other sites, or to other sites.
    pub fn check_origin(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let text = |name| match headers.get_all(name).iter().collect::<Vec<_>>()[..] {
            [] => Ok(None),
            [value] => value.to_str().map(Some).map_err(|_| ()),
            _ => Err(()),
        };
        let host = text(HOST).ok().flatten();
        let host = host.ok_or((StatusCode::BAD_REQUEST, "there has to be one header Host"))?;
        if !self.is_ours(host) {
            return Err((
                StatusCode::MISDIRECTED_REQUEST,
                "Host is no name of this router: give it by `name` in the stanza http",
            ));
        }
        let refused = (StatusCode::FORBIDDEN, "a page of another origin sent this");
        if let Some(origin) = text(ORIGIN).map_err(|()| refused)? {
            let scheme = if self.is_tls { "https://" } else { "http://" };
            if !origin.strip_prefix(scheme).is_some_and(|from| from.eq_ignore_ascii_case(host)) {
                return Err(refused);
            }
        }
        let site = headers.get("sec-fetch-site").map(|site| site.as_bytes());
        match site {
            None | Some(b"same-origin" | b"none") => Ok(()),
            Some(_) => Err(refused),
        }
    }

    /// The holder of the token that came along.
    pub fn holder(&self, headers: &HeaderMap) -> Result<Holder, Refusal> {
        let Some(tokens) = &self.tokens else {
            return Ok(Holder { name: "the socket of HTTP".to_owned(), is_read_only: false });
        };
        let mut all = headers.get_all(AUTHORIZATION).iter();
        let value = all.next().filter(|_| all.next().is_none()).and_then(|v| v.to_str().ok());
        let missing =
            (StatusCode::UNAUTHORIZED, "a token is needed: `Authorization: Bearer TOKEN`");
        let (scheme, token) = value.and_then(|v| v.split_once(' ')).ok_or(missing)?;
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Err(missing);
        }
        let wrong = (StatusCode::UNAUTHORIZED, "this token is not known");
        tokens.holder(token.trim()).cloned().ok_or(wrong)
    }

    /// Whether a value of `Host` is an address or a name of the router.
    fn is_ours(&self, host: &str) -> bool {
        let (name, port) = match host.strip_prefix('[') {
            Some(rest) => rest.split_once(']').unwrap_or_default(),
            None => host.split_at(host.find(':').unwrap_or(host.len())),
        };
        if !port.is_empty() && port.strip_prefix(':').is_none_or(|p| p.parse::<u16>().is_err()) {
            return false;
        }
        let name = name.to_ascii_lowercase();
        let is_address = name.parse::<IpAddr>().is_ok();
        is_address || name == "localhost" || self.names.contains(&name)
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::{HeaderName, HeaderValue};

    use super::*;

    fn headers(all: &[(&'static str, &'static str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        let mut map = HeaderMap::new();
        for (name, value) in all.iter().map(pair) {
            map.append(name, value);
        }
        map
    }

    fn status(guard: &Guard, all: &[(&'static str, &'static str)]) -> u16 {
        guard.check_origin(&headers(all)).map_or_else(|(status, _)| status.as_u16(), |()| 200)
    }

    #[test]
    fn pages_of_others_and_names_of_others_are_refused() {
        let names = vec!["router.example".to_owned()];
        let guard = Guard { tokens: None, names, is_tls: false };
        for (all, expected) in [
            (&[("host", "127.0.0.1:80")][..], 200),
            (&[("host", "[::1]:80")], 200),
            (&[("host", "localhost:80")], 200),
            (&[("host", "LOCALHOST")], 200),
            (&[("host", "Router.Example:80")], 200),
            (&[], 400),
            (&[("host", "localhost"), ("host", "evil.example")], 400),
            (&[("host", "evil.example:80")], 421),
            (&[("host", "localhost.evil.example")], 421),
            (&[("host", "[::1].evil.example")], 421),
            (&[("host", "localhost:80.evil.example")], 421),
            (&[("host", "")], 421),
            (&[("host", "localhost:80"), ("origin", "http://localhost:80")], 200),
            (&[("host", "localhost:80"), ("origin", "http://localhost:81")], 403),
            (&[("host", "localhost:80"), ("origin", "https://localhost:80")], 403),
            (&[("host", "localhost:80"), ("origin", "http://evil.example")], 403),
            (&[("host", "localhost:80"), ("origin", "null")], 403),
            (&[("host", "localhost"), ("sec-fetch-site", "same-origin")], 200),
            (&[("host", "localhost"), ("sec-fetch-site", "none")], 200),
            (&[("host", "localhost"), ("sec-fetch-site", "cross-site")], 403),
            (&[("host", "localhost"), ("sec-fetch-site", "same-site")], 403),
        ] {
            assert_eq!(status(&guard, all), expected, "{all:?}");
        }
        let tls = Guard { tokens: None, names: Vec::new(), is_tls: true };
        let own = [("host", "10.0.0.1:443"), ("origin", "https://10.0.0.1:443")];
        assert_eq!(status(&tls, &own), 200);
        assert_eq!(status(&tls, &[("host", "router.example")]), 421);
    }

    #[test]
    fn a_token_is_needed_where_there_are_tokens() {
        let path = std::env::temp_dir().join(format!("http-guard-{}", std::process::id()));
        let tokens = Tokens::make(&path).unwrap();
        let token = std::fs::read_to_string(&path).unwrap().trim().to_owned();
        std::fs::remove_file(&path).unwrap();
        let guard = Guard { tokens: Some(tokens), names: Vec::new(), is_tls: false };
        let ask = |value: &str| {
            let mut map = HeaderMap::new();
            map.insert(AUTHORIZATION, value.parse().unwrap());
            guard.holder(&map).is_ok()
        };
        assert!(ask(&format!("Bearer {token}")) && ask(&format!("bearer  {token}")));
        assert!(guard.holder(&HeaderMap::new()).is_err());
        for wrong in ["", "Bearer", "Bearer ", &token, &format!("Basic {token}")] {
            assert!(!ask(wrong), "{wrong}");
        }
        let mut twice = HeaderMap::new();
        twice.append(AUTHORIZATION, format!("Bearer {token}").parse().unwrap());
        twice.append(AUTHORIZATION, "Bearer x".parse().unwrap());
        assert!(guard.holder(&twice).is_err());
    }
}
