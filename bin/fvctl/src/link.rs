//! The connection to the router's CLI socket, in the framed dialect of `control::session`.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use control::cli::SessionRequest;
use control::config::Listen;
use control::session::TURNED_AWAY;
use control::session::frame::{Answer, Request};
use control::session::telnet::{Decoder, Event, FRAMES, IAC, LONGEST, WILL};
use control::socket::is_trusted_folder;

/// Longest wait for the router's first bytes unless it is said.
const GREETING: Duration = Duration::from_secs(5);
/// The wait that is said.
static PATIENCE: OnceLock<Duration> = OnceLock::new();

/// Sets how long the router may take to greet.
pub fn be_patient(time: Duration) {
    // The first one counts, and there is one.
    let _ = PATIENCE.set(time);
}

fn patience() -> Duration {
    PATIENCE.get().copied().unwrap_or(GREETING)
}

/// A stream socket of either kind.
trait Socket: Read + Write + AsFd + Send {
    fn set_timeout(&self, timeout: Option<Duration>) -> io::Result<()>;
}

impl Socket for UnixStream {
    fn set_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.set_read_timeout(timeout)
    }
}

impl Socket for TcpStream {
    fn set_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.set_read_timeout(timeout)
    }
}

/// A session with a router.
pub struct Link {
    socket: Box<dyn Socket>,
    decoder: Decoder,
    /// Bytes received and not yet decoded.
    received: Vec<u8>,
    at: usize,
    number: u32,
    prompt: String,
    session_request: Option<SessionRequest>,
    ended: bool,
}

/// The end of a command.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Well.
    Done,
    /// With this error text.
    Failed(String),
    /// A request to the session that owns the terminal.
    SessionRequest(SessionRequest),
}

impl Link {
    /// Connects to `socket`, or to the first of the usual places where a router listens.
    pub fn open(socket: Option<&str>) -> io::Result<Self> {
        let Some(socket) = socket else { return Self::search() };
        let address: Listen = socket.parse().expect("any text is an address");
        let stream: Box<dyn Socket> = match &address {
            Listen::Unix(path) => Box::new(UnixStream::connect(path).map_err(|e| at(socket, &e))?),
            Listen::Tcp(host) => Box::new(TcpStream::connect(host).map_err(|e| at(socket, &e))?),
        };
        Self::greet(stream).map_err(|e| at(socket, &e))
    }

    fn search() -> io::Result<Self> {
        let places = places();
        let mut forbidden = String::new();
        for place in &places {
            match UnixStream::connect(place) {
                Ok(stream) => {
                    // Others might have made a folder in /tmp, and listen to what is typed.
                    let folder = Path::new(place).parent().filter(|f| f.starts_with("/tmp"));
                    folder.map_or(Ok(()), is_trusted_folder).map_err(io::Error::other)?;
                    return Self::greet(Box::new(stream)).map_err(|e| at(place, &e));
                }
                Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
                    forbidden = format!(" (permission denied for {place})");
                }
                Err(_) => {}
            }
        }
        let text = format!("no router listens at {}{forbidden}; use -s SOCKET", places.join(", "));
        Err(io::Error::new(io::ErrorKind::NotFound, text))
    }

    fn greet(socket: Box<dyn Socket>) -> io::Result<Self> {
        let mut link = Self {
            socket,
            decoder: Decoder::default(),
            received: Vec::new(),
            at: 0,
            number: 0,
            prompt: String::new(),
            session_request: None,
            ended: false,
        };
        link.socket.set_timeout(Some(patience()))?;
        link.socket.write_all(&[IAC, WILL, FRAMES])?;
        match link.answer()? {
            (0, Answer::Hello { prompt }) => link.prompt = prompt,
            _ => return Err(foreign()),
        }
        link.socket.set_timeout(None)?;
        Ok(link)
    }

    /// The prompt the router's configuration asks for.
    pub fn prompt(&self) -> &str {
        &self.prompt
    }

    /// True after a command that ends the session.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// Runs a command, passing its output to `print` as it arrives.
    pub fn run(
        &mut self,
        text: &str,
        json: bool,
        print: &mut dyn FnMut(&str) -> io::Result<()>,
    ) -> io::Result<Outcome> {
        let number = self.send(&Request::Run { json, text: text.to_owned() })?;
        loop {
            match self.answer()? {
                (of, answer) if of == number => {
                    if let Some(outcome) = self.take(answer, json, print)? {
                        return Ok(outcome);
                    }
                }
                _ => {}
            }
        }
    }

    /// Like [`run`](Self::run); `wait` is called whenever the router is silent, until it says that
    /// the command shall be cancelled.
    pub fn run_watched(
        &mut self,
        text: &str,
        json: bool,
        print: &mut dyn FnMut(&str) -> io::Result<()>,
        wait: &mut dyn FnMut(&dyn AsFd) -> io::Result<bool>,
    ) -> io::Result<Outcome> {
        let number = self.send(&Request::Run { json, text: text.to_owned() })?;
        let mut is_cancelled = false;
        loop {
            let Some(event) = self.decoded() else {
                if !is_cancelled && wait(&self.socket)? {
                    self.socket.write_all(&Request::Cancel.encode(number))?;
                    is_cancelled = true;
                } else {
                    self.receive()?;
                }
                continue;
            };
            if let Event::Frame(frame) = event
                && let Some((of, answer)) = Answer::decode(&frame)
                && (of == number || answer == Answer::Bye)
                && let Some(outcome) = self.take(answer, json, print)?
            {
                return Ok(outcome);
            }
        }
    }

    /// Words that may stand where `line` ends, with what they mean.
    pub fn complete(&mut self, line: &str) -> io::Result<Vec<(String, String)>> {
        let number = self.send(&Request::Complete { line: line.to_owned() })?;
        loop {
            if let (of, Answer::Candidates { words }) = self.answer()?
                && of == number
            {
                return Ok(words);
            }
        }
    }

    fn take(
        &mut self,
        answer: Answer,
        json: bool,
        print: &mut dyn FnMut(&str) -> io::Result<()>,
    ) -> io::Result<Option<Outcome>> {
        match answer {
            // A command that shows nothing has no JSON either.
            Answer::Output { text } if json && text == "null" => {}
            Answer::Output { text } => print(&text)?,
            Answer::Done { code: 0, .. } => {
                return Ok(Some(
                    self.session_request.take().map_or(Outcome::Done, Outcome::SessionRequest),
                ));
            }
            Answer::Done { error, .. } => return Ok(Some(Outcome::Failed(error))),
            Answer::Bye => self.ended = true,
            Answer::SessionRequest { session_request } => {
                self.session_request = Some(session_request)
            }
            Answer::Hello { .. } | Answer::Candidates { .. } => {}
        }
        Ok(None)
    }

    fn send(&mut self, request: &Request) -> io::Result<u32> {
        if let Request::Run { text, .. } = request
            && text.len() > LONGEST
        {
            let why =
                format!("a command has at most {LONGEST} bytes here; `exec' takes longer ones");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        self.number = self.number.wrapping_add(1);
        if self.socket.write_all(&request.encode(self.number)).is_err() {
            return Err(self.last_words());
        }
        Ok(self.number)
    }

    /// Reads what a router said that does not listen any more.
    fn last_words(&mut self) -> io::Error {
        loop {
            while let Some(event) = self.decoded() {
                let answer = match event {
                    Event::Frame(frame) => Answer::decode(&frame),
                    _ => None,
                };
                self.ended |= matches!(answer, Some((_, Answer::Bye)));
            }
            if let Err(error) = self.receive() {
                return error;
            }
        }
    }

    fn answer(&mut self) -> io::Result<(u32, Answer)> {
        loop {
            match self.decoded() {
                Some(Event::Frame(frame)) => {
                    if let Some(answer) = Answer::decode(&frame) {
                        return Ok(answer);
                    }
                }
                Some(Event::Byte(first)) => return Err(self.refusal(first)),
                Some(_) => {}
                None => self.receive()?,
            }
        }
    }

    /// Error of a router that speaks plain text: it turns this session away, or it is none of ours.
    fn refusal(&mut self, first: u8) -> io::Error {
        let mut text = vec![first];
        while text.len() < TURNED_AWAY.len() {
            match self.decoded() {
                Some(Event::Byte(byte)) => text.push(byte),
                Some(_) => break,
                None if self.receive().is_ok() => {}
                None => break,
            }
        }
        let is_ours = text == TURNED_AWAY.as_bytes();
        if is_ours { io::Error::other(TURNED_AWAY.trim_end()) } else { foreign() }
    }

    /// The next event out of what has been received.
    fn decoded(&mut self) -> Option<Event> {
        while let Some(byte) = self.received.get(self.at) {
            self.at += 1;
            let event = self.decoder.byte(*byte);
            if event.is_some() {
                return event;
            }
        }
        None
    }

    fn receive(&mut self) -> io::Result<()> {
        self.received.resize(64 * 1024, 0);
        self.at = 0;
        let count = self.socket.read(&mut self.received);
        self.received.truncate(*count.as_ref().unwrap_or(&0));
        match count {
            Ok(0) => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the router has hung up")),
            Ok(_) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(silent()),
            Err(error) => Err(error),
        }
    }
}

/// Names the socket an error is about.
fn at(socket: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{socket}: {}", control::cli::io_text(error)))
}

/// Default paths of a router's socket.
fn places() -> Vec<String> {
    let uid = rustix::process::getuid().as_raw();
    let session = std::env::var("XDG_RUNTIME_DIR").ok();
    let session = session.map(|folder| format!("{folder}/vpp/cli.sock"));
    let mut places = vec![
        "/run/vpp/cli.sock".to_owned(),
        "/var/run/vpp/cli.sock".to_owned(),
        format!("/var/run/user/{uid}/vpp/cli.sock"),
    ];
    places.extend(session.filter(|path| *path != format!("/run/user/{uid}/vpp/cli.sock")));
    places.push(format!("/tmp/vpp-{uid}/cli.sock"));
    places.extend(["./cli.sock", "/run/ferrovia/cli.sock"].map(str::to_owned));
    places
}

/// The router has accepted the connection and says nothing.
fn silent() -> io::Error {
    let seconds = patience().as_secs();
    let text = format!(
        "no answer within {seconds} s: is the router busy or stopped? (--timeout SECONDS waits \
         longer)"
    );
    io::Error::new(io::ErrorKind::TimedOut, text)
}

fn foreign() -> io::Error {
    io::Error::other("who listens there does not speak fvctl's dialect")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silent_router_is_no_stranger() {
        let (ours, _router) = UnixStream::pair().unwrap();
        be_patient(Duration::from_secs(1));
        let error = Link::greet(Box::new(ours)).map(drop).unwrap_err().to_string();
        assert!(error.starts_with("no answer within 1 s"), "{error}");
        let (ours, mut stranger) = UnixStream::pair().unwrap();
        stranger.write_all(b"220 smtp ready\r\n").unwrap();
        stranger.shutdown(std::net::Shutdown::Write).unwrap();
        let error = Link::greet(Box::new(ours)).map(drop).unwrap_err().to_string();
        assert!(error.contains("does not speak fvctl's dialect"), "{error}");
    }

    #[test]
    fn places_of_users_are_looked_at() {
        let uid = rustix::process::getuid().as_raw();
        assert!(places().contains(&format!("/tmp/vpp-{uid}/cli.sock")), "{:?}", places());
    }

    #[test]
    fn a_command_is_cancelled_once() {
        let (ours, mut router) = UnixStream::pair().unwrap();
        let peer = std::thread::spawn(move || {
            let mut decoder = Decoder::default();
            let mut bytes = [0; 4096];
            let (mut runs, mut cancels) = (0, 0);
            loop {
                let count = router.read(&mut bytes).unwrap();
                for byte in &bytes[..count] {
                    let frame = match decoder.byte(*byte) {
                        Some(Event::Frame(frame)) => frame,
                        Some(Event::Frames) => {
                            let hello = Answer::Hello { prompt: "> ".into() };
                            router.write_all(&hello.encode(0)).unwrap();
                            continue;
                        }
                        _ => continue,
                    };
                    let (number, request) = Request::decode(&frame).unwrap();
                    let answer = match request {
                        Request::Cancel => {
                            cancels += 1;
                            Answer::Done { code: -1, error: "interrupted".into() }
                        }
                        _ => {
                            runs += 1;
                            Answer::Output { text: "some".into() }
                        }
                    };
                    router.write_all(&answer.encode(number)).unwrap();
                }
                if count == 0 {
                    return (runs, cancels);
                }
            }
        });
        let mut link = Link::greet(Box::new(ours)).unwrap();
        let mut text = String::new();
        let mut print = |piece: &str| {
            text.push_str(piece);
            Ok(())
        };
        let outcome = link.run_watched("show all", false, &mut print, &mut |_| Ok(true)).unwrap();
        assert_eq!(outcome, Outcome::Failed("interrupted".into()));
        drop(link);
        assert_eq!(peer.join().unwrap(), (1, 1));
        assert_eq!(text, "some");
    }
}
