use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use super::frame::{Answer, Request};
use super::telnet::{ASK_WINDOW, DO, Decoder, Event, FRAMES, GREETING, IAC, WILL};
use super::*;
use crate::cli::{Args, Command, Error, SessionRequest, Task};
use crate::config::Listen;

#[derive(Default)]
struct Toy {
    cancelled: u32,
}

/// Say hello.
#[derive(Command)]
#[command("show hello")]
struct Hello;

/// Print lines.
#[derive(Command)]
#[command("show lines")]
struct Lines {
    /// number of lines
    #[positional]
    count: usize,
}

/// Names that take a millisecond to find.
#[derive(Command)]
#[command("show slow")]
struct Slow {
    /// name
    #[positional]
    slow: Option<String>,
}

/// Never end.
#[derive(Command)]
#[command("test forever")]
struct Forever;

/// Show how many commands were cancelled.
#[derive(Command)]
#[command("show cancelled")]
struct Cancelled;

/// Says when it begins and when it is cancelled.
#[derive(Default)]
struct Endless(bool);

impl Task<Toy> for Endless {
    fn step(&mut self, _: &mut Toy, out: &mut Output) -> Step {
        if !std::mem::replace(&mut self.0, true) {
            out.append(Output::text("begun\n"));
        }
        Step::Wait
    }

    fn cancel(&mut self, cx: &mut Toy, out: &mut Output) {
        cx.cancelled += 1;
        out.append(Output::text("so far\n"));
    }
}

/// `block { … }`.
struct Block(usize);

impl Command for Block {
    const PATHS: &'static [&'static str] = &["block"];
    const ABOUT: &'static str = "Count words";

    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let mut inside = args.block()?.ok_or_else(|| args.unknown())?;
        let mut count = 0;
        while inside.word().is_some() {
            count += 1;
        }
        Ok(Self(count))
    }
}

/// Serves a toy on its own thread until the process ends.
fn serve(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("control-session-{}", std::process::id()));
    let path = folder.join(name);
    std::fs::create_dir_all(&folder).unwrap();
    let address = Listen::Unix(path.clone());
    thread::spawn(move || {
        let mut cli: Cli<Toy> = Cli::new();
        cli.command(|_, _: Hello| Ok("hello"));
        cli.command(|_, lines: Lines| Ok("a line of text\n".repeat(lines.count)));
        cli.command(|_, slow: Slow| Ok(slow.slow.unwrap_or_default()));
        cli.values("slow", |_| {
            thread::sleep(Duration::from_millis(1));
            vec!["snail".to_owned()]
        });
        cli.command(|cx, _: Cancelled| Ok(Output::of(cx.cancelled)));
        cli.command(|_, block: Block| Ok(block.0.to_string()));
        cli.task(|_, _: Forever| Ok(Box::new(Endless::default()) as Box<dyn Task<Toy>>));
        let settings = Settings { banner: "Welcome\n".into(), ..Settings::default() };
        let server = Server::new(Rc::new(cli), Rc::new(RefCell::new(Toy::default())), settings);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let local = tokio::task::LocalSet::new();
        local.block_on(&runtime, async {
            let listener = Listener::bind(&address).await.unwrap();
            server.serve(listener).await.unwrap();
        });
    });
    for _ in 0..3000 {
        if path.exists() {
            return path;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("no socket");
}

struct Client(UnixStream);

impl Client {
    /// Connects and takes the greeting.
    fn new(path: &PathBuf) -> Self {
        let stream = UnixStream::connect(path).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let mut client = Self(stream);
        assert_eq!(client.bytes(36), [&GREETING[..], &ASK_WINDOW[..]].concat());
        client
    }

    fn vppctl(path: &PathBuf) -> Self {
        let mut client = Self::new(path);
        client.send(b"\xff\xfa\x18\x00vppctl\xff\xf0");
        client
    }

    fn framed(path: &PathBuf) -> Self {
        let mut client = Self::new(path);
        client.send(&[IAC, WILL, FRAMES]);
        assert_eq!(client.bytes(3), [IAC, DO, FRAMES]);
        assert_eq!(client.answer(), (0, Answer::Hello { prompt: "vpp# ".into() }));
        client
    }

    fn send(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).unwrap();
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.0.read_exact(&mut bytes).unwrap();
        bytes
    }

    fn until(&mut self, end: &str) -> String {
        let mut text = String::new();
        while !text.ends_with(end) {
            text.push(char::from(self.bytes(1)[0]));
        }
        text
    }

    fn command(&mut self, line: &str) -> String {
        self.send(format!("{line}\n\0").as_bytes());
        self.until("\0")
    }

    fn answer(&mut self) -> (u32, Answer) {
        let mut decoder = Decoder::default();
        loop {
            if let Some(Event::Frame(frame)) = decoder.byte(self.bytes(1)[0]) {
                return Answer::decode(&frame).unwrap();
            }
        }
    }

    fn is_closed(&mut self) -> bool {
        self.0.read(&mut [0]).unwrap() == 0
    }
}

fn done(code: i32, error: &str) -> Answer {
    Answer::Done { code, error: error.into() }
}

fn output(text: &str) -> Answer {
    Answer::Output { text: text.into() }
}

fn run(text: &str) -> Request {
    Request::Run { json: false, text: text.into() }
}

#[test]
fn the_originals_client_is_served() {
    let path = serve("plain.sock");
    let mut client = Client::vppctl(&path);
    assert_eq!(client.command("show hello"), "hello\r\n\0");
    assert_eq!(client.command("sh lin 2"), "a line of text\r\na line of text\r\n\0");
    assert_eq!(client.command("show bogus"), "show: unknown input `bogus'\r\n\0");
    assert_eq!(client.command(""), "\0");
    assert_eq!(client.command("block {"), "\0");
    assert_eq!(client.command("a b }"), "2\r\n\0");
    client.send(b"quit\n");
    assert_eq!(client.until("\0"), "\0");
    assert!(client.is_closed());
}

#[test]
fn commands_sent_before_the_terminal_type_wait_for_it() {
    let path = serve("early.sock");
    let mut client = Client::new(&path);
    client.send(b"show hello\n\0\xff\xfa\x18\x00VPPCTL\xff\xf0quit\n");
    assert_eq!(client.until("\0"), "hello\r\n\0");
    assert!(client.is_closed());
}

#[test]
fn lines_out_of_a_pipe_are_answered_whole() {
    let path = serve("pipe.sock");
    let mut client = Client::vppctl(&path);
    client.send(b"show hello\nshow bogus\n\nsh lin 2\n\0");
    assert_eq!(
        client.until("\0"),
        "hello\r\nshow: unknown input `bogus'\r\na line of text\r\na line of text\r\n\0"
    );
    assert_eq!(client.command("show \\"), "\0");
    assert_eq!(client.command("hello"), "hello\r\n\0");
}

#[test]
fn half_closed_clients_get_their_answers() {
    let path = serve("half.sock");
    let mut client = Client::new(&path);
    client.send(b"show hello\n");
    client.0.shutdown(std::net::Shutdown::Write).unwrap();
    let mut text = String::new();
    client.0.read_to_string(&mut text).unwrap();
    assert_eq!(text, "hello\r\n\0");
}

#[test]
fn people_get_prompt_echo_completion_and_pager() {
    let path = serve("terminal.sock");
    let mut client = Client::new(&path);
    client.send(b"\xff\xfa\x18\x00xterm\xff\xf0\xff\xfa\x1f\x00\x50\x00\x04\xff\xf0");
    assert_eq!(client.until("vpp# "), "Welcome\r\nvpp# ");
    client.send(b"show hello\r");
    assert_eq!(client.until("vpp# "), "show hello\r\nhello\r\nvpp# ");
    client.send(b"sho\the\t\r");
    assert_eq!(client.until("vpp# "), "show hello \r\nhello\r\nvpp# ");
    client.send(b"show ?");
    let help = client.until("vpp# show ");
    assert!(help.contains("\r\n  hello                          Say hello\r\n"), "{help}");
    client.send(b"\x15show lines 5\r");
    let page = client.until("-- more -- ");
    assert_eq!(page.matches("text\r\n").count(), 3);
    client.send(b" ");
    assert_eq!(client.until("vpp# ").matches("text\r\n").count(), 2);
    client.send(b"test forever\r");
    client.until("begun\r\n");
    client.send(b"\x03");
    assert_eq!(client.until("vpp# "), "^C\r\nso far\r\nvpp# ");
    client.send(b"\x04");
    assert!(client.is_closed());
}

#[test]
fn people_ask_about_their_session() {
    let path = serve("wishes.sock");
    let mut client = Client::new(&path);
    client.send(b"\xff\xfa\x18\x00xterm\xff\xf0\xff\xfa\x1f\x00\x50\x00\x18\xff\xf0");
    client.until("vpp# ");
    client.send(b"show terminal\r");
    let text = client.until("vpp# ");
    assert!(text.contains("Terminal name:   xterm\r\nTerminal width:  80\r\n"), "{text}");
    assert!(text.contains("ANSI capable:    yes"), "{text}");
    assert!(text.contains("Pager enabled:   yes"), "{text}");
    client.send(b"history\r");
    assert_eq!(client.until("vpp# "), "history\r\n    1  show terminal\r\n    2  history\r\nvpp# ");
    client.send(b"set terminal history limit 1\rhistory\r");
    client.until("vpp# ");
    assert_eq!(client.until("vpp# "), "history\r\n    1  history\r\nvpp# ");
    client.send(b"set terminal pager off\rshow lines 100\r");
    client.until("vpp# ");
    assert_eq!(client.until("vpp# ").matches("text\r\n").count(), 100);
    client.send(b"set terminal ansi off\rshow hellx\x7fo\r");
    client.until("vpp# ");
    assert_eq!(client.until("vpp# "), "show hellx\x08 \x08o\r\nhello\r\nvpp# ");
    let mut dumb = Client::new(&path);
    dumb.send(b"\xff\xfa\x18\x00DUMB\xff\xf0show terminal\r");
    dumb.until("vpp# ");
    assert!(dumb.until("vpp# ").contains("ANSI capable:    no"));
    let mut framed = Client::framed(&path);
    framed.send(&run("history").encode(1));
    assert_eq!(
        framed.answer(),
        (1, Answer::SessionRequest { session_request: SessionRequest::History })
    );
    assert_eq!(framed.answer(), (1, done(0, "")));
}

#[test]
fn a_long_file_is_stopped_while_others_are_served() {
    let path = serve("exec.sock");
    let file = path.with_file_name("exec.txt");
    let lines = 1_000_000;
    std::fs::write(&file, "comment a\n".repeat(lines)).unwrap();
    let mut client = Client::framed(&path);
    let line = format!("exec {}", file.display());
    client.send(&run(&line).encode(1));
    let mut other = Client::vppctl(&path);
    for _ in 0..20 {
        assert_eq!(other.command("show hello"), "hello\r\n\0");
    }
    client.send(&Request::Cancel.encode(1));
    let (_, Answer::Output { text }) = client.answer() else { panic!("no output") };
    assert_eq!(client.answer(), (1, done(-1, "interrupted")));
    let count = text.strip_suffix(" commands were run\n").unwrap();
    let count: usize = count.rsplit(' ').next().unwrap().parse().unwrap();
    assert!((1..lines).contains(&count), "{text}");
    assert_eq!(
        text,
        format!("{line}:{count}: stopped; {count} commands were run\n")
            .replacen("exec ", "exec: ", 1)
    );
    std::fs::remove_file(file).unwrap();
}

#[test]
fn silence_means_a_person() {
    let path = serve("silent.sock");
    assert_eq!(Client::new(&path).until("vpp# "), "Welcome\r\nvpp# ");
}

#[test]
fn output_of_any_length_arrives() {
    let path = serve("long.sock");
    let mut client = Client::framed(&path);
    for json in [false, true] {
        client.send(&Request::Run { json, text: "show lines 300000".into() }.encode(1));
        let mut text = String::new();
        while let (1, Answer::Output { text: piece }) = client.answer() {
            text.push_str(&piece);
        }
        assert!(text.len() > 2 << 20, "{json}: {} bytes", text.len());
    }
    client.send(&run(&format!("bogus {}", "x".repeat((1 << 20) - 10))).encode(2));
    let (2, Answer::Done { error, .. }) = client.answer() else { panic!("no end") };
    assert!(error.len() < 1 << 19 && error.ends_with("xxx..."), "{} bytes", error.len());
}

#[test]
fn frames_carry_status_json_and_candidates() {
    let path = serve("framed.sock");
    let mut client = Client::framed(&path);
    client.send(&run("show hello").encode(1));
    assert_eq!(client.answer(), (1, output("hello\n")));
    assert_eq!(client.answer(), (1, done(0, "")));
    client.send(&run("bogus cmd").encode(2));
    assert_eq!(client.answer(), (2, done(-1, "unknown input `bogus cmd'")));
    client.send(&Request::Run { json: true, text: "show cancelled".into() }.encode(255));
    assert_eq!(client.answer(), (255, output("0")));
    assert_eq!(client.answer(), (255, done(0, "")));
    client.send(&Request::Complete { line: "show he".into() }.encode(4));
    let words = vec![("hello".to_owned(), "Say hello".to_owned())];
    assert_eq!(client.answer(), (4, Answer::Candidates { words }));
    client.send(&run("test forever").encode(5));
    assert_eq!(client.answer(), (5, output("begun\n")));
    client.send(&Request::Cancel.encode(5));
    assert_eq!(client.answer(), (5, output("so far\n")));
    assert_eq!(client.answer(), (5, done(-1, "interrupted")));
    client.send(&run("quit").encode(6));
    assert_eq!(client.answer(), (6, Answer::Bye));
    assert_eq!(client.answer(), (6, done(0, "")));
    assert!(client.is_closed());
}

#[test]
fn a_stuck_client_and_a_lost_one_harm_nobody() {
    let path = serve("stuck.sock");
    let mut stuck = Client::vppctl(&path);
    stuck.send(b"show lines 2000000\nshow hello\n");
    let mut lost = Client::vppctl(&path);
    lost.send(b"test forever\n");
    // What was not read when a client goes may be lost with it.
    lost.until("begun\r\n");
    drop(lost);
    let mut client = Client::vppctl(&path);
    assert_eq!(client.command("show hello"), "hello\r\n\0");
    for _ in 0..3000 {
        if client.command("show cancelled") == "1\r\n\0" {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("the lost client's command goes on");
}

#[tokio::test(flavor = "current_thread")]
async fn the_socket_comes_and_goes_under_its_name() {
    let folder = std::env::temp_dir().join(format!("control-listen-{}", std::process::id()));
    let path = folder.join("cli.sock");
    std::fs::create_dir_all(&folder).unwrap();
    let address = Listen::Unix(path.clone());
    let listener = Listener::bind(&address).await.unwrap();
    let second = Listener::bind(&address).await.err().unwrap();
    assert_eq!(second.kind(), io::ErrorKind::AddrInUse);
    drop(listener);
    assert!(!path.exists());
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn settings_follow_the_configuration() {
    let text = "unix { nobanner cli-no-pager cli-line-mode cli-prompt r1 cli-history-limit 7 }";
    let config = crate::config::Config::parse(text, &[]).unwrap();
    let expected = Settings {
        prompt: "r1 ".into(),
        banner: String::new(),
        pager: false,
        line_mode: true,
        history: 7,
    };
    assert_eq!(Settings::new(&config.unix, "Welcome"), expected);
    assert_eq!(Settings::new(&Unix::default(), ""), Settings::default());
}

#[tokio::test(flavor = "current_thread")]
async fn texts_run_beside_sessions_over_tcp() {
    let mut cli: Cli<Toy> = Cli::new();
    cli.command(|_, _: Hello| Ok("hello"));
    cli.task(|_, _: Forever| Ok(Box::new(Endless::default()) as Box<dyn Task<Toy>>));
    let cx = Rc::new(RefCell::new(Toy::default()));
    let server = Server::new(Rc::new(cli), cx.clone(), Settings::default());
    let local = tokio::task::LocalSet::new();
    let work = local.run_until(async move {
        let listener = Listener::bind(&"127.0.0.1:0".parse().unwrap()).await.unwrap();
        let address = listener.tcp_address().unwrap();
        let sessions = server.clone();
        tokio::task::spawn_local(async move { sessions.serve(listener).await });
        let client = tokio::task::spawn_blocking(move || {
            let mut stream = std::net::TcpStream::connect(address).unwrap();
            stream.write_all(b"\xff\xfa\x18\x00vppctl\xff\xf0show hello\nquit\n").unwrap();
            let mut bytes = Vec::new();
            stream.read_to_end(&mut bytes).unwrap();
            bytes
        });
        let reply = server.run("show hello\nnope\nshow hello").await;
        assert_eq!(reply.text(), "hello\nunknown input `nope'\n");
        assert_eq!(reply.retval(), -1);
        let endless = server.run("test forever");
        assert!(tokio::time::timeout(Duration::from_millis(50), endless).await.is_err());
        assert_eq!(client.await.unwrap()[36..], *b"hello\r\n\0");
    });
    work.await;
    assert_eq!(cx.borrow().cancelled, 1, "a dropped run tells its task");
}

#[test]
fn sessions_are_seen_and_ended_by_others() {
    let path = serve("sessions.sock");
    let mut busy = Client::framed(&path);
    busy.send(&run("test forever").encode(7));
    assert_eq!(busy.answer(), (7, output("begun\n")));
    let mut person = Client::new(&path);
    person.send(b"\xff\xfa\x18\x00xterm\xff\xf0");
    person.until("vpp# ");
    let mut client = Client::vppctl(&path);
    let shown = client.command("show cli-sessions");
    let row = |number: usize| shown.lines().nth(number).unwrap().split_whitespace();
    let process = std::process::id().to_string();
    let words: Vec<_> = row(1).collect();
    assert_eq!(words[..4], ["1", "process", &process, "framed"], "{shown}");
    assert_eq!(words[words.len() - 3..], ["1", "test", "forever"], "{shown}");
    let words: Vec<_> = row(2).collect();
    assert_eq!(words[3..5], ["terminal", "xterm"], "{shown}");
    assert!(row(3).any(|word| word == "plain"), "{shown}");
    assert_eq!(client.command("kill cli-session 9"), "kill cli-session: no session 9\r\n\0");
    assert_eq!(client.command("kill cli-session 1"), "\0");
    assert_eq!(busy.answer(), (7, output("so far\n")));
    assert_eq!(busy.answer(), (7, done(-1, "interrupted")));
    assert_eq!(busy.answer(), (0, Answer::Bye));
    assert!(busy.is_closed());
    assert_eq!(client.command("kill cli-session 2"), "\0");
    assert_eq!(person.until("session'\r\n"), "\r\nended by `kill cli-session'\r\n");
    assert!(person.is_closed());
    assert!(!client.command("show cli-sessions").contains("framed"));
}

#[test]
fn a_client_that_asks_for_much_at_once_leaves_others_their_turn() {
    let path = serve("much.sock");
    let mut many = Client::framed(&path);
    // Without turns, the other one waits for all of these: five seconds.
    let asked = 5000_u32;
    let complete = |n| Request::Complete { line: "show slow ".into() }.encode(n);
    let bytes: Vec<_> = (0..asked).flat_map(complete).collect();
    let sending = {
        let mut stream = many.0.try_clone().unwrap();
        thread::spawn(move || stream.write_all(&bytes).unwrap())
    };
    assert_eq!(many.answer().0, 0, "the first is answered");
    let (mut other, start) = (Client::vppctl(&path), std::time::Instant::now());
    assert_eq!(other.command("show hello"), "hello\r\n\0");
    let took = start.elapsed();
    assert!(took < Duration::from_secs(4), "it took {took:?}");
    for number in 1..asked {
        let words = vec![("snail".to_owned(), String::new())];
        assert_eq!(many.answer(), (number, Answer::Candidates { words }));
    }
    sending.join().unwrap();
}
