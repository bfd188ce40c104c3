//! Requests over HTTP/1.1: to etcd's gateway, with TLS or without, and to the router's socket.
//!
//! Each request has a connection, a time and a bound of bytes of its own.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

/// The other end.
#[derive(Clone)]
pub enum Peer {
    /// A socket in the file system.
    Unix(PathBuf),
    /// A name or address with a port, and TLS where it is used.
    Tcp(String, u16, Option<Arc<ClientConfig>>),
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// A request.
pub struct Ask<'a> {
    /// Path and query.
    pub path: &'a str,
    /// JSON to send; without it, it is a `GET`.
    pub body: Option<Vec<u8>>,
    /// Value of `Authorization`.
    pub token: Option<&'a str>,
}

impl Peer {
    /// Its name, for people.
    pub fn name(&self) -> String {
        match self {
            Self::Unix(path) => path.display().to_string(),
            Self::Tcp(host, port, _) => format!("{host}:{port}"),
        }
    }

    async fn connect(&self) -> Result<Box<dyn Stream>, String> {
        match self {
            Self::Unix(path) => {
                let stream = UnixStream::connect(path).await;
                Ok(Box::new(stream.map_err(|e| control::cli::io_text(&e))?))
            }
            Self::Tcp(host, port, tls) => {
                let stream = TcpStream::connect((host.as_str(), *port)).await;
                let stream = stream.map_err(|e| control::cli::io_text(&e))?;
                // It is about latency only.
                let _ = stream.set_nodelay(true);
                let Some(tls) = tls else { return Ok(Box::new(stream)) };
                let name = ServerName::try_from(host.clone());
                let name = name.map_err(|_| format!("`{host}' is not a server name"))?;
                let made = TlsConnector::from(Arc::clone(tls)).connect(name, stream).await;
                Ok(Box::new(made.map_err(|e| format!("TLS: {e}"))?))
            }
        }
    }

    /// Sends a request; the body of the answer is still to come.
    ///
    /// # Errors
    /// The other end cannot be reached, or its reply is not HTTP.
    pub async fn open(&self, ask: Ask<'_>, time: Duration) -> Result<Response<Incoming>, String> {
        let work = async {
            let stream = self.connect().await?;
            let made = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
            let (mut sender, connection) = made.map_err(|e| e.to_string())?;
            // It ends with the answer, or with the one who reads it.
            tokio::spawn(async move { drop(connection.await) });
            let method = if ask.body.is_some() { Method::POST } else { Method::GET };
            let host = match self {
                Self::Unix(_) => "localhost".to_owned(),
                Self::Tcp(..) => self.name(),
            };
            let mut request = Request::builder().method(method).uri(ask.path).header(HOST, host);
            if ask.body.is_some() {
                request = request.header(CONTENT_TYPE, "application/json");
            }
            if let Some(token) = ask.token {
                request = request.header(AUTHORIZATION, token);
            }
            let body = Full::new(Bytes::from(ask.body.unwrap_or_default()));
            let request = request.body(body).map_err(|e| e.to_string())?;
            sender.send_request(request).await.map_err(|e| e.to_string())
        };
        timeout(time, work).await.unwrap_or_else(|_| Err("no answer in time".to_owned()))
    }

    /// Sends a request; returns status and body.
    ///
    /// # Errors
    /// As [`Peer::open`]; the body is longer than `most` bytes.
    pub async fn ask(
        &self,
        ask: Ask<'_>,
        most: usize,
        time: Duration,
    ) -> Result<(u16, Vec<u8>), String> {
        let work = async {
            let answer = self.open(ask, time).await?;
            let status = answer.status().as_u16();
            let mut body = answer.into_body();
            let mut bytes = Vec::new();
            while let Some(frame) = body.frame().await {
                let frame = frame.map_err(|e| e.to_string())?;
                if let Some(data) = frame.data_ref() {
                    bytes.extend_from_slice(data);
                }
                if bytes.len() > most {
                    return Err(format!("the answer is longer than {most} bytes"));
                }
            }
            Ok((status, bytes))
        };
        timeout(time, work).await.unwrap_or_else(|_| Err("no answer in time".to_owned()))
    }
}
