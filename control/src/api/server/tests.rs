//! A server and clients on sockets of one process.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::runtime::Builder;
use tokio::task::LocalSet;

use super::super::{HEADER, HeadValues, Outgoing, Retval, request};
use super::*;
use crate::api::{Message, Text};
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

#[derive(Default)]
struct Router {
    clients: Clients,
}

/// A folder and a server in it.
struct Bench {
    path: PathBuf,
    clients: Clients,
    dump: u16,
}

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
            .call(|_, _: RowDel| Err(Retval::NO_SUCH_ENTRY));
        let router = Router::default();
        let clients = router.clients.clone();
        api.finish(&clients).unwrap();
        let dump = api.id("row_dump").unwrap();
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        LocalSet::new().block_on(&runtime, async {
            let listener = Listener::lasting(&path).unwrap();
            let cx = Rc::new(RefCell::new(router));
            let log = Log::new().class("api", "test");
            let server = Server::new(Rc::new(api), Rc::new(Cli::new()), cx, clients.clone(), log);
            spawn_local(async move { server.serve(listener).await });
            let test = test(Self { path: path.clone(), clients, dump });
            tokio::time::timeout(std::time::Duration::from_secs(20), test).await.unwrap();
        });
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
        out.raw(&[0, 23, 0, 0, 0, 0, 0, 0, 0, 1]); // of nobody
        out.bytes.extend(client.ping(1));
        client.stream.write_all(&out.bytes).await.unwrap();
        client.expect_ping(1).await;
    });
}

#[test]
fn who_does_not_read_harms_nobody() {
    Bench::run(|bench| async move {
        let mut slow = Client::connect(&bench.path).await;
        let dump = request(bench.dump, &RowDump { count: 1_000_000 }, slow.head(1));
        slow.stream.write_all(&dump).await.unwrap();
        slow.stream.write_all(&slow.ping(2)).await.unwrap();
        let mut quick = Client::connect(&bench.path).await;
        for context in 0..100 {
            let ping = quick.ping(context);
            quick.stream.write_all(&ping).await.unwrap();
            quick.expect_ping(context).await;
        }
        assert!(bench.clients.waiting(slow.index) < 4 << 20, "what waits is bounded");
        for _ in 0..1_000_000 {
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
        assert_eq!(names, [(second.index, "test".to_owned())]);
        assert_eq!(Client::connect(&bench.path).await.index, first.index);
        drop(second);
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
