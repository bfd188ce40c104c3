//! A server and clients on sockets of one process.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use infra::memory::lane::Lane;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::runtime::Builder;
use tokio::task::LocalSet;

use super::super::{
    CliInband, CliInbandReply, FerroviaLaneCreate, HEADER, HeadValues, Outgoing, Reader, Retval,
    register_commands, request, split,
};
use super::*;
use crate::api::{Message, Slice, Task, Text};
use crate::events::EventLog;
use crate::log::Log;

/// Ask for rows.
#[derive(Message)]
#[details(RowDetails)]
struct RowDump {
    count: u32,
}

/// A row.
#[derive(Message)]
struct RowDetails {
    number: u32,
    name: Text<64>,
}

/// Refused.
#[derive(Message)]
struct RowDel {}

/// Add some.
#[derive(Message)]
struct RowAdd {
    mac: wire::MacAddr,
    #[preset(2)]
    count: u32,
}

/// Add rows one by one, without a pause, forever.
#[derive(Message)]
#[reply(RowFillReply)]
struct RowFill {}

/// Never sent.
#[derive(Message)]
struct RowFillReply {}

struct Filling;

impl Task<Router> for Filling {
    type Reply = RowFillReply;

    fn step(&mut self, router: &mut Router) -> Slice<RowFillReply> {
        router.rows.set(router.rows.get() + 1);
        Slice::Sleep(Duration::ZERO)
    }

    fn cancel(&mut self, router: &mut Router) {
        router.rows.set(0);
    }
}

#[derive(Default)]
struct Router {
    clients: Clients,
    rows: Rc<Cell<u32>>,
}

/// A folder and a server in it.
struct Bench {
    path: PathBuf,
    clients: Clients,
    events: EventLog,
    rows: Rc<Cell<u32>>,
    dump: u16,
    add: u16,
    fill: u16,
    command: u16,
    lane: u16,
}

/// Rows that take a millisecond.
const SLOW: u32 = 1000;

impl Bench {
    /// Runs `test` beside a server.
    fn run<F: Future<Output = ()>>(test: impl FnOnce(Self) -> F) {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("api-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("api.sock");
        let mut api = Api::<Router>::new();
        api.core("rows", "1.0.0")
            .dump_each(|_, m: RowDump| {
                let mut left = 0..m.count;
                move |_: &mut Router| {
                    left.next().map(|number| RowDetails { number, name: "row".into() })
                }
            })
            .call(|_, _: RowDel| Err(Retval::NO_SUCH_ENTRY))
            .task(|_, _, _: RowFill| Ok(Filling))
            .call(|router: &mut Router, m: RowAdd| {
                if m.count == SLOW {
                    std::thread::sleep(Duration::from_millis(1));
                }
                router.rows.set(router.rows.get() + m.count);
                Ok(())
            });
        let mut cli = Cli::new();
        register_commands(&mut cli, |router: &Router| &router.clients);
        let events = EventLog::default();
        let clients = Clients::noting(events.clone());
        let router = Router { clients: clients.clone(), ..Router::default() };
        let rows = router.rows.clone();
        api.finish(&clients).unwrap();
        let id = |name: &str| api.id(name).unwrap();
        let (dump, add, command) = (id("row_dump"), id("row_add"), id("cli_inband"));
        let (lane, fill) = (id("ferrovia_lane_create"), id("row_fill"));
        let (ended, is_over) = channel::<()>();
        std::thread::spawn(move || {
            // A server that is stuck cannot end the test.
            if is_over.recv_timeout(Duration::from_secs(60)) == Err(RecvTimeoutError::Timeout) {
                eprintln!("the server is stuck");
                std::process::exit(1);
            }
        });
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        LocalSet::new().block_on(&runtime, async {
            let listener = Listener::lasting(&path).unwrap();
            let cx = Rc::new(RefCell::new(router));
            let log = Log::new().class("api", "test");
            let server = Server::new(Rc::new(api), Rc::new(cli), cx, clients.clone(), log);
            spawn_local(async move { server.serve(listener).await });
            let path = path.clone();
            let test = test(Self { path, clients, events, rows, dump, add, fill, command, lane });
            tokio::time::timeout(Duration::from_secs(20), test).await.unwrap();
        });
        drop(ended);
        assert!(path.exists(), "the name stays");
        std::fs::remove_dir_all(folder).unwrap();
    }
}

struct Client {
    stream: UnixStream,
    index: u32,
}

impl Client {
    async fn connect(path: &Path) -> Self {
        let mut stream = UnixStream::connect(path).await.unwrap();
        let mut message = vec![0, 15, 0, 0, 0, 124];
        message.extend(b"test");
        message.resize(70, 0);
        let mut out = Outgoing::default();
        out.raw(&message);
        stream.write_all(&out.bytes).await.unwrap();
        let mut client = Self { stream, index: 0 };
        let reply = client.receive().await;
        assert_eq!(reply[..14], [0, 16, 0, 0, 0, 0, 0, 0, 0, 124, 0, 0, 0, 0]);
        client.index = u32::from_be_bytes(reply[14..18].try_into().unwrap());
        let count = u16::from_be_bytes(reply[18..20].try_into().unwrap());
        assert_eq!(reply.len(), 20 + 66 * usize::from(count));
        client
    }

    fn head(&self, context: u32) -> HeadValues {
        HeadValues { client_index: self.index, context, ..HeadValues::default() }
    }

    fn ping(&self, context: u32) -> Vec<u8> {
        let mut message = vec![0, 23];
        message.extend(self.index.to_be_bytes());
        message.extend(context.to_be_bytes());
        let mut out = Outgoing::default();
        out.raw(&message);
        out.bytes
    }

    async fn receive(&mut self) -> Vec<u8> {
        let mut header = [0; HEADER];
        self.stream.read_exact(&mut header).await.unwrap();
        let len = u32::from_be_bytes(header[8..12].try_into().unwrap());
        let mut message = vec![0; len as usize];
        self.stream.read_exact(&mut message).await.unwrap();
        message
    }

    /// Runs a command.
    async fn command(&mut self, bench: &Bench, cmd: &str) -> String {
        let bytes = request(bench.command, &CliInband { cmd: cmd.into() }, self.head(1));
        self.stream.write_all(&bytes).await.unwrap();
        let reply = self.receive().await;
        let reply: CliInbandReply = Message::decode(&mut Reader::new(&reply[10..])).unwrap();
        reply.reply
    }

    async fn expect_ping(&mut self, context: u32) {
        let reply = self.receive().await;
        assert_eq!((reply.len(), &reply[..2]), (18, &[0, 24][..]));
        assert_eq!(reply[2..6], context.to_be_bytes());
        assert_eq!(reply[10..14], self.index.to_be_bytes());
    }
}

#[test]
fn a_ping_is_answered_behind_all_rows() {
    Bench::run(|bench| async move {
        let mut client = Client::connect(&bench.path).await;
        assert_eq!(client.index, 0x8000_0001);
        let mut bytes = request(bench.dump, &RowDump { count: 1000 }, client.head(5));
        bytes.extend(client.ping(5));
        client.stream.write_all(&bytes).await.unwrap();
        for number in 0..1000_u32 {
            let row = client.receive().await;
            assert_eq!(row[2..6], [0, 0, 0, 5]);
            assert_eq!(row[6..10], number.to_be_bytes());
        }
        client.expect_ping(5).await;
    });
}

#[test]
fn messages_may_come_byte_by_byte() {
    Bench::run(|bench| async move {
        let mut client = Client::connect(&bench.path).await;
        for byte in client.ping(9) {
            client.stream.write_all(&[byte]).await.unwrap();
            tokio::task::yield_now().await;
        }
        client.expect_ping(9).await;
    });
}

#[test]
fn nonsense_is_survived() {
    Bench::run(|bench| async move {
        let mut client = Client::connect(&bench.path).await;
        let mut out = Outgoing::default();
        out.raw(&[]);
        out.raw(&[7]);
        out.raw(&[0xff, 0xff, 0, 0]);
        out.raw(&[0, 23, 0]);
        out.raw(&[0, 24, 0, 0, 0, 0, 0, 0, 0, 0]); // a reply
        out.raw(&[0, 23, 0, 0, 0, 0, 0, 0, 0, 1]); // of no client
        out.bytes.extend(client.ping(1));
        client.stream.write_all(&out.bytes).await.unwrap();
        client.expect_ping(1).await;
    });
}

#[test]
fn who_does_not_read_harms_nobody() {
    Bench::run(|bench| async move {
        let mut slow = Client::connect(&bench.path).await;
        let dump = request(bench.dump, &RowDump { count: 200_000 }, slow.head(1));
        slow.stream.write_all(&dump).await.unwrap();
        slow.stream.write_all(&slow.ping(2)).await.unwrap();
        let mut quick = Client::connect(&bench.path).await;
        for context in 0..100 {
            let ping = quick.ping(context);
            quick.stream.write_all(&ping).await.unwrap();
            quick.expect_ping(context).await;
        }
        assert!(bench.clients.waiting(slow.index) < 4 << 20, "what waits is bounded");
        for _ in 0..200_000 {
            slow.receive().await;
        }
        slow.expect_ping(2).await;
    });
}

#[test]
fn numbers_of_clients_are_used_again() {
    Bench::run(|bench| async move {
        let mut first = Client::connect(&bench.path).await;
        let second = Client::connect(&bench.path).await;
        let mut message = vec![0, 17];
        message.extend(first.index.to_be_bytes());
        message.extend([0, 0, 0, 3]);
        message.extend(first.index.to_be_bytes());
        let mut out = Outgoing::default();
        out.raw(&message);
        first.stream.write_all(&out.bytes).await.unwrap();
        assert_eq!(first.receive().await, [0, 18, 0, 0, 0, 3, 0, 0, 0, 1]);
        assert_eq!(first.stream.read(&mut [0]).await.unwrap(), 0, "the server hangs up");
        let names: Vec<_> = bench.clients.status().into_iter().map(|c| (c.index, c.name)).collect();
        let noted = bench.events.newest(9).into_iter().map(|event| event.text);
        let expected = [
            format!("API client test ({:#x}) connected", first.index),
            format!("API client test ({:#x}) connected", second.index),
            format!("API client test ({:#x}) disconnected", first.index),
        ];
        assert_eq!(noted.collect::<Vec<_>>(), expected);
        assert_eq!(names, [(second.index, "test".to_owned())]);
        assert_eq!(Client::connect(&bench.path).await.index, first.index);
        drop(second);
    });
}

#[test]
fn others_have_their_turn_while_one_client_has_much() {
    Bench::run(|bench| async move {
        let mut much = Client::connect(&bench.path).await;
        let mut other = Client::connect(&bench.path).await;
        let row = RowAdd { mac: wire::MacAddr([0; 6]), count: SLOW };
        let add = |context| request(bench.add, &row, much.head(context));
        let requests: Vec<_> = (0..200).flat_map(add).collect();
        much.stream.write_all(&requests).await.unwrap();
        while bench.rows.get() == 0 {
            tokio::task::yield_now().await;
        }
        let ping = other.ping(1);
        other.stream.write_all(&ping).await.unwrap();
        other.expect_ping(1).await;
        let done = bench.rows.get() / SLOW;
        assert!(done < 30, "{done} of 200 were answered before another client's one");
    });
}

#[test]
fn many_requests_at_once_are_answered_in_order() {
    Bench::run(|bench| async move {
        let mut client = Client::connect(&bench.path).await;
        let pings: Vec<_> = (0..20_000).flat_map(|context| client.ping(context)).collect();
        let (mut reader, mut writer) = client.stream.into_split();
        let sender = spawn_local(async move { writer.write_all(&pings).await.map(|()| writer) });
        for context in 0..20_000_u32 {
            let mut message = [0; HEADER + 18];
            reader.read_exact(&mut message).await.unwrap();
            assert_eq!(message[HEADER + 2..HEADER + 6], context.to_be_bytes());
        }
        drop(sender.await.unwrap().unwrap());
        client = Client::connect(&bench.path).await;
        let ping = client.ping(1);
        client.stream.write_all(&ping).await.unwrap();
        client.stream.shutdown().await.unwrap();
        client.expect_ping(1).await;
        assert_eq!(client.stream.read(&mut [0]).await.unwrap(), 0, "answered, then closed");
    });
}

#[test]
fn requests_are_recorded_saved_and_repeated() {
    Bench::run(|bench| async move {
        let mut client = Client::connect(&bench.path).await;
        let status = client.command(&bench, "show api trace-status").await;
        assert_eq!(status, "RX Trace disabled\nTX Trace disabled\n");
        client.command(&bench, "api trace tx on").await;
        let name = format!("api-trace-test-{}", std::process::id());
        let save = format!("api trace save {name}");
        assert_eq!(client.command(&bench, &save).await, "API Trace data not present\n");
        client.command(&bench, "api trace on nitems 2").await;
        let add = RowAdd { mac: wire::MacAddr([2, 0, 0, 0, 0, 1]), count: 3 };
        for _ in 0..3 {
            let add = request(bench.add, &add, client.head(1));
            client.stream.write_all(&add).await.unwrap();
            client.receive().await;
        }
        client.command(&bench, "api trace off").await;
        client.command(&bench, "api trace tx off").await;
        let sent = client.command(&bench, "api trace tx dump").await;
        assert_eq!(sent.matches(r#""_msgname":"row_add_reply""#).count(), 3, "{sent}");
        assert_eq!(bench.rows.get(), 9);
        let dump = client.command(&bench, "api trace dump").await;
        assert!(dump.contains(r#""_msgname":"row_add""#), "{dump}");
        assert!(dump.contains(r#""mac":"02:00:00:00:00:01""#), "{dump}");
        let saved = format!("API trace saved to /tmp/{name}\n");
        assert_eq!(client.command(&bench, &save).await, saved);
        let table = client.command(&bench, &format!("show api dump file {name}")).await;
        assert!(
            table.contains(" row_add_") && table.contains(" control_ping_51077d14\n"),
            "{table}"
        );
        let changed = format!("show api dump file {name} compare-current");
        assert_eq!(client.command(&bench, &changed).await, "");
        let exists = format!("file exists: /tmp/{name}\n");
        assert_eq!(client.command(&bench, &save).await, exists);
        client.command(&bench, &format!("api trace replay {name}")).await;
        assert_eq!(bench.rows.get(), 12, "the last two were an addition and a command");
        let json = r#"[{"_msgname": "row_add", "_crc": "0", "mac": "00:00:00:00:00:00"}]"#;
        std::fs::write(format!("/tmp/{name}"), json).unwrap();
        client.command(&bench, &format!("api trace replay-json /tmp/{name}")).await;
        assert_eq!(bench.rows.get(), 14, "the default is 2");
        std::fs::remove_file(format!("/tmp/{name}")).unwrap();
        let refused = client.command(&bench, "api trace save ../x").await;
        assert_eq!(refused, "api trace: illegal characters in filename '../x'\n");
        let list = client.command(&bench, "show api clients").await;
        assert!(list.contains("test"), "{list}");
        let ranges = client.command(&bench, "show api plugin").await;
        assert!(ranges.starts_with("Plugin API message ID ranges...\nName   "), "{ranges}");
        assert!(ranges.contains("\nrows_"), "{ranges}");
    });
}

/// Answer to `FerroviaLaneCreate`, with the bytes and descriptors behind it.
async fn enter(client: &mut Client, bench: &Bench, size: u32) -> (Vec<u8>, Option<std::fs::File>) {
    let create = request(bench.lane, &FerroviaLaneCreate { size }, client.head(6));
    client.stream.write_all(&create).await.unwrap();
    let mut bytes = [0; 64];
    let receive = || Ok(crate::socket::receive_with(&client.stream, &mut bytes)?);
    let (len, file) = client.stream.async_io(tokio::io::Interest::READABLE, receive).await.unwrap();
    (bytes[HEADER..len].to_vec(), file.map(Into::into))
}

#[test]
fn any_message_may_be_typed() {
    Bench::run(|bench| async move {
        let mut client = Client::connect(&bench.path).await;
        let said = client.command(&bench, "binary-api row_add mac 02:00:00:00:00:09").await;
        assert!(said.contains(r#""_msgname": "row_add_reply""#), "{said}");
        assert!(said.contains(r#""retval": 0"#), "{said}");
        let said = client.command(&bench, r#"binary-api row_add {"count": 7}"#).await;
        assert!(said.contains(r#""retval": 0"#) && bench.rows.get() == 9, "{said}");
        let said = client.command(&bench, "binary-api row_dump count 3").await;
        assert_eq!(said.matches("row_details").count(), 3, "{said}");
        let said = client.command(&bench, "binary-api help row_add").await;
        assert!(said.starts_with("row_add: Add some\n  mac  "), "{said}");
        let said = client.command(&bench, "binary-api row_adt").await;
        assert_eq!(said, "binary-api: no request row_adt\n");
        let said = client.command(&bench, "binary-api row_add mac x").await;
        assert_eq!(said, "binary-api: mac: \"x\"\n");
        let said = client.command(&bench, "show api histogram").await;
        assert!(said.contains("\n                   1 "), "{said}");
        client.command(&bench, "clear api histogram").await;
        let rings = client.command(&bench, "show api ring-stats").await;
        assert!(rings.starts_with("               Owner "), "{rings}");
    });
}

#[test]
fn shared_memory_carries_what_the_socket_did() {
    Bench::run(|bench| async move {
        let mut client = Client::connect(&bench.path).await;
        let (refused, file) = enter(&mut client, &bench, 0).await;
        assert_eq!(
            (&refused[6..10], file.is_none()),
            (&Retval::INVALID_VALUE.0.to_be_bytes()[..], true)
        );
        let (reply, file) = enter(&mut client, &bench, 5000).await;
        assert_eq!(reply[2..], [0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0x20, 0]);
        let mut lane = Lane::open(file.unwrap().into()).unwrap();
        let mut bytes: Vec<_> = (0..2000).flat_map(|context| client.ping(context)).collect();
        bytes.extend(request(bench.dump, &RowDump { count: 5000 }, client.head(5)));
        bytes.extend(client.ping(7777));
        let (mut rest, mut got) = (&bytes[..], Vec::new());
        let end = 2000 * (HEADER + 18) + 5000 * (HEADER + 74) + HEADER + 18;
        while got.len() < end {
            rest = &rest[lane.send(rest).unwrap()..];
            lane.receive(&mut got, 1000).unwrap();
            if lane.must_ring() {
                client.stream.write_all(&[0]).await.unwrap();
            }
            if lane.sleep(!rest.is_empty()).unwrap() && got.len() < end {
                assert_ne!(client.stream.read(&mut [0; 9]).await.unwrap(), 0, "a bell");
            }
            lane.wake();
        }
        let messages = split(&got);
        assert_eq!(messages.len(), 7001);
        let context = |at: usize| u32::from_be_bytes(messages[at][2..6].try_into().unwrap());
        assert!((0..2000).all(|at| context(at) == at as u32) && context(7000) == 7777);
        assert_eq!(messages[6999][6..10], 4999_u32.to_be_bytes());
        assert_eq!(bench.clients.status()[0].lane, Some(8192));
        drop(client);
        while bench.clients.lanes() > 0 {
            tokio::task::yield_now().await;
        }
    });
}

#[test]
fn who_writes_nonsense_into_shared_memory_is_hung_up_on() {
    use std::os::unix::fs::FileExt;

    Bench::run(|bench| async move {
        for word in 0..200_u64 {
            let mut client = Client::connect(&bench.path).await;
            let (_, file) = enter(&mut client, &bench, 4096).await;
            // The client's ring lies behind the router's; first how much it has written.
            let (file, ring) = (file.unwrap(), 8 * (64 + 512));
            if word % 2 == 0 {
                file.write_all_at(&u64::MAX.to_ne_bytes(), ring).unwrap();
            } else {
                file.write_all_at(&100_u64.to_ne_bytes(), ring).unwrap();
                file.write_all_at(&(word * 0x0123_4567).to_ne_bytes(), ring + 8 * 64).unwrap();
            }
            client.stream.write_all(&[0]).await.unwrap();
            assert_eq!(client.stream.read(&mut [0]).await.unwrap_or(0), 0);
        }
        let mut other = Client::connect(&bench.path).await;
        let ping = other.ping(1);
        other.stream.write_all(&ping).await.unwrap();
        other.expect_ping(1).await;
    });
}

/// Waits until no client is left.
async fn all_gone(bench: &Bench) {
    while bench.clients.lanes() > 0 || !bench.clients.status().is_empty() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Connects a client and expects answers, soon.
async fn expect_answers(bench: &Bench) {
    let answered = async {
        let mut other = Client::connect(&bench.path).await;
        let ping = other.ping(1);
        other.stream.write_all(&ping).await.unwrap();
        other.expect_ping(1).await;
    };
    tokio::time::timeout(Duration::from_secs(2), answered).await.expect("others are answered");
}

/// Steps of a client, after each of which it may be gone.
async fn go_through_steps(bench: &Bench, last: usize, in_memory: bool) {
    let mut client = Client::connect(&bench.path).await;
    let mut lane = None;
    if in_memory {
        let (_, file) = enter(&mut client, bench, 4096).await;
        lane = Some(Lane::open(file.unwrap().into()).unwrap());
    }
    let dump = request(bench.dump, &RowDump { count: 8000 }, client.head(5));
    let fill = request(bench.fill, &RowFill {}, client.head(6));
    let ping = client.ping(7);
    let pings = ping.repeat(100);
    // Half a header, the rest with half a message, a message, answers that do not fit, endless work.
    let steps = [&ping[..9], &ping[9..20], &ping[20..], &pings, &dump, &pings, &fill];
    for bytes in &steps[..last] {
        match &mut lane {
            // What does not fit is left out: a client may be gone in the middle of a message.
            Some(lane) => {
                lane.send(bytes).unwrap();
                lane.must_ring();
                client.stream.write_all(&[0]).await.unwrap();
            }
            None => client.stream.write_all(bytes).await.unwrap(),
        }
        tokio::task::yield_now().await;
    }
    if last.is_multiple_of(2) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[test]
fn clients_that_die_at_any_step_hold_up_nobody_and_leave_nothing() {
    Bench::run(|bench| async move {
        for in_memory in [true, false] {
            for last in 0..=7 {
                go_through_steps(&bench, last, in_memory).await;
                expect_answers(&bench).await;
            }
        }
        // Endless work of clients that are gone ends after a while.
        tokio::time::timeout(Duration::from_secs(15), all_gone(&bench)).await.unwrap();
        assert_eq!(bench.rows.get(), 0, "it was cancelled");
    });
}

#[test]
fn a_client_that_reads_nothing_of_a_lane_and_dies_is_forgotten_at_once() {
    Bench::run(|bench| async move {
        let mut client = Client::connect(&bench.path).await;
        let (_, file) = enter(&mut client, &bench, 4096).await;
        let mut lane = Lane::open(file.unwrap().into()).unwrap();
        for context in 0..60 {
            lane.send(&client.ping(context)).unwrap();
        }
        let add = RowAdd { mac: wire::MacAddr([2; 6]), count: 5 };
        lane.send(&request(bench.add, &add, client.head(1))).unwrap();
        client.stream.write_all(&[0]).await.unwrap();
        drop((client, lane));
        tokio::time::timeout(Duration::from_secs(1), all_gone(&bench)).await.unwrap();
        assert_eq!(bench.rows.get(), 5, "what it asked for is done");
        expect_answers(&bench).await;
    });
}

#[test]
fn work_without_pauses_of_a_client_that_does_not_read_leaves_others_their_turn() {
    Bench::run(|bench| async move {
        let mut client = Client::connect(&bench.path).await;
        let mut bytes = request(bench.dump, &RowDump { count: 8000 }, client.head(5));
        bytes.extend(request(bench.fill, &RowFill {}, client.head(6)));
        client.stream.write_all(&bytes).await.unwrap();
        while bench.rows.get() == 0 {
            tokio::task::yield_now().await;
        }
        let (before, time) = (bench.rows.get(), now());
        tokio::time::sleep(Duration::from_millis(50)).await;
        expect_answers(&bench).await;
        let done = u128::from(bench.rows.get() - before);
        let most = (now() - time).as_millis() + 1;
        assert!(done <= most, "{done} times in {most} ms: it pauses");
    });
}

#[test]
fn bytes_that_never_end_leave_others_their_turn() {
    Bench::run(|bench| async move {
        let client = Client::connect(&bench.path).await;
        let stream = client.stream.into_std().unwrap();
        stream.set_nonblocking(false).unwrap();
        let flood = std::thread::spawn(move || {
            // Messages of 60 MB with an unknown ID.
            let (mut head, rest) = ([0; HEADER], vec![0xff; 1 << 20]);
            head[8..12].copy_from_slice(&(60_u32 << 20).to_be_bytes());
            while std::io::Write::write_all(&mut &stream, &head).is_ok() {
                for _ in 0..60 {
                    if std::io::Write::write_all(&mut &stream, &rest).is_err() {
                        return;
                    }
                }
            }
        });
        for _ in 0..10 {
            expect_answers(&bench).await;
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        drop(flood);
    });
}
