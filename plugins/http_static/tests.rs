//! Tests of static files over HTTP.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use host_stack::FEATURE as SESSION;
use http_core::{Response, Ticket};
use http_static::*;
use net::testing::whole::Bench;

/// A folder with files, deleted on drop.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("http-static-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(path.join("www/sub")).unwrap();
        fs::write(path.join("secret"), "secret").unwrap();
        let folder = Self(path);
        folder.write("index.html", "first");
        folder.write("sub/index.html", "second");
        folder
    }
    fn root(&self) -> PathBuf {
        self.0.join("www")
    }
    fn write(&self, path: &str, text: &str) {
        fs::write(self.root().join(path), text).unwrap();
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The thread of a server, and the files that it has found.
struct Thread {
    asks: SyncSender<Ask>,
    put: SyncSender<(String, Response)>,
    found: Receiver<(String, Response)>,
    ledger: Ledger,
}

impl Thread {
    fn new(root: &Path, cache_size: u64) -> Self {
        let ledger = Ledger::default();
        let asks = start(root.to_str().unwrap(), cache_size, 600, ledger.clone()).unwrap();
        let (put, found) = sync_channel(10);
        Self { asks, put, found, ledger }
    }

    fn get(&self, path: &str, since: Option<String>) -> Response {
        self.ask(path, since, false)
    }

    fn ask(&self, path: &str, since: Option<String>, is_head: bool) -> Response {
        let ticket = Ticket::default();
        let (path, found) = (path.to_owned(), self.put.clone());
        self.asks.send(Ask { path, since, is_head, ticket: ticket.clone(), found }).unwrap();
        for _ in 0..5000 {
            if let Some(response) = ticket.take() {
                return response;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        panic!("no answer");
    }

    fn status(&self, path: &str) -> u16 {
        self.get(path, None).status
    }
}

fn header<'a>(response: &'a Response, name: &str) -> Option<&'a str> {
    response.headers.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
}

#[test]
fn only_files_beneath_the_folder_are_served() {
    let folder = Folder::new("beneath");
    symlink("../secret", folder.root().join("out")).unwrap();
    symlink("/etc/passwd", folder.root().join("far")).unwrap();
    symlink("..", folder.root().join("up")).unwrap();
    symlink("sub/index.html", folder.root().join("in")).unwrap();
    symlink("loop", folder.root().join("loop")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(folder.root().join("socket")).unwrap();
    let thread = Thread::new(&folder.root(), 1000);
    for path in
        ["/out", "/far", "/up/secret", "/../secret", "/sub/../../secret", "/loop", "//../secret"]
    {
        assert_eq!(thread.status(path), 403, "{path}");
    }
    assert!(thread.status("/socket") >= 400);
    for path in ["/nothing", "/index.html/", "/index.html/x"] {
        assert_eq!(thread.status(path), 404, "{path}");
    }
    for path in ["/in", "/sub/../sub/index.html", "/sub/"] {
        assert_eq!(&*thread.get(path, None).body, b"second", "{path}");
    }
    assert_eq!(&*thread.get("/", None).body, b"first");
    let moved = thread.get("/sub", None);
    assert_eq!((moved.status, header(&moved, "Location")), (301, Some("/sub/")));
    let moved = thread.get("//sub", None);
    assert_eq!(header(&moved, "Location"), Some("/sub/"), "not to the host sub");
}

#[test]
fn a_file_that_changes_is_read_again_and_one_that_does_not_is_not_sent() {
    let folder = Folder::new("changes");
    let thread = Thread::new(&folder.root(), 1000);
    let first = thread.get("/index.html", None);
    assert_eq!(header(&first, "Cache-Control"), Some("max-age=600"));
    let modified = header(&first, "Last-Modified").unwrap().to_owned();
    assert!(modified.ends_with(" GMT") && modified.len() == 29, "{modified}");
    assert_eq!(thread.get("/index.html", Some(modified)).status, 304);
    assert_eq!(thread.found.try_recv().unwrap().0, "/index.html");
    thread.status("/index.html");
    let Numbers { files, hits, reads, .. } = thread.ledger.numbers();
    assert_eq!((files, hits, reads), (1, 1, 1));
    folder.write("index.html", "another");
    assert_eq!(&*thread.get("/index.html", None).body, b"another");
    thread.ledger.clear();
    thread.status("/index.html");
    assert_eq!(thread.ledger.numbers().reads, 3);
}

#[test]
fn the_cache_keeps_what_was_asked_for_last() {
    let folder = Folder::new("keeps");
    for name in ["a", "b", "c"] {
        folder.write(name, &name.repeat(400));
    }
    folder.write("large", &"x".repeat(2000));
    let thread = Thread::new(&folder.root(), 1000);
    for path in ["/a", "/b", "/a", "/c", "/large", "/a"] {
        assert_eq!(thread.status(path), 200);
    }
    let Numbers { bytes, files, hits, reads, evictions, .. } = thread.ledger.numbers();
    assert_eq!((bytes, files, hits, reads, evictions), (800, 2, 2, 4, 1));
}

#[test]
fn large_files_are_read_once_for_all_who_are_sent_them_and_within_a_bound() {
    let folder = Folder::new("large");
    for n in 0..4 {
        let file = std::fs::File::create(folder.root().join(format!("{n}"))).unwrap();
        file.set_len(100 << 20).unwrap();
    }
    let thread = Thread::new(&folder.root(), 1000);
    let head = thread.ask("/0", None, true);
    assert_eq!((head.status, head.body.len(), head.left_out), (200, 0, 100 << 20));
    let first = thread.get("/0", None);
    for _ in 0..20 {
        assert!(std::sync::Arc::ptr_eq(&thread.get("/0", None).body, &first.body));
    }
    let second = thread.get("/1", None);
    assert_eq!((thread.status("/2"), thread.ledger.numbers().reads), (503, 2));
    assert!(thread.found.try_recv().is_err(), "none is kept for a moment");
    drop(first);
    assert_eq!((thread.status("/2"), second.body.len()), (200, 100 << 20));
}

#[test]
fn paths_are_decoded_or_refused() {
    assert_eq!(decoded("/a%20b/%C3%A9.html").as_deref(), Some("/a b/é.html"));
    for path in ["a", "", "*", "/%", "/%4", "/%zz", "/a%00", "/a%0ab", "/%ff", "/\u{7f}"] {
        assert_eq!(decoded(path), None, "{path:?}");
    }
}

#[test]
fn endings_have_types() {
    assert_eq!(content_type("/a.b/index.HTML"), "text/html");
    assert_eq!(content_type("/a.html/b"), "application/octet-stream");
    assert_eq!(content_type("/.css"), "text/css");
}

#[test]
fn servers_are_added_and_removed_and_print_themselves() {
    let mut b = Bench::plugged(&[SESSION, FEATURE]);
    for (line, why) in [
        ("http static server", "set www-root or url-handlers"),
        ("http static server www-root /nowhere/at/all", "www-root /nowhere/at/all: "),
        ("http static server url-handlers uri https://0.0.0.0/443", "TLS is not supported"),
        ("http static server url-handlers uri tcp://x/80", "not an address"),
        ("http static server url-handlers max-age x", "x"),
        ("http static listener del", "no server runs at tcp://0.0.0.0/80"),
        ("http static server disable", "no server runs"),
    ] {
        let error = b.attempt(line).unwrap_err();
        assert!(error.contains(why), "{line}: {error}");
    }
    assert_eq!(b.run("show configuration http_static"), "");
    let main = "http static server uri http://0.0.0.0:80 www-root /tmp max-age 5";
    b.set(main);
    assert!(
        b.attempt("http static server www-root /").unwrap_err().contains("a server already runs")
    );
    let other = "http static listener add uri tcp://::/81 url-handlers cache-size 1024";
    b.set(other);
    let told = b.run("show configuration http_static");
    assert_eq!(told, format!("{main}\n{other}\n"));
    let shown = b.run("show session listeners tcp");
    assert!(shown.contains("[T] 0.0.0.0:80->") && shown.contains("[T] [::]:81->"), "{shown}");
    let shown = b.run("show http static server cache verbose");
    assert!(shown.contains("[0] http://0.0.0.0:80 www-root /tmp\n  max-age 5 s"), "{shown}");
    b.set("clear http static cache index 1");
    assert!(b.attempt("clear http static cache index 2").unwrap_err().contains("no server"));
    b.set("http static listener del uri http://0.0.0.0:80");
    b.set("http static server disable");
    assert_eq!(b.run("show configuration http_static"), "");
    b.set(main);
    b.set("session disable");
    assert_eq!(b.run("show configuration http_static"), "");
}

#[test]
fn messages_start_and_stop_the_server() {
    let mut b = Bench::plugged(&[SESSION, FEATURE]);
    let new = |www_root: &str, uri: &str| HttpStaticEnableV5 {
        fifo_size: 0,
        cache_size_limit: 0,
        max_age: 600,
        keepalive_timeout: 60,
        max_body_size: 8192,
        rx_buff_thresh: 1 << 20,
        prealloc_fifos: 0,
        private_segment_size: 0,
        www_root: www_root.into(),
        uri: uri.into(),
    };
    b.talk(|local, router| {
        local.call(router, &new("/tmp", "tcp://0.0.0.0:80")).unwrap();
        assert!(local.call(router, &new("/tmp", "tcp://0.0.0.0:81")).is_err());
        let reply = local.call(router, &HttpStaticGet {}).unwrap();
        assert_eq!((reply.max_age, reply.www_root.as_str()), (600, "/tmp"));
        local.call(router, &HttpStaticDisable {}).unwrap();
        assert!(local.call(router, &HttpStaticDisable {}).is_err());
        assert!(local.call(router, &HttpStaticGet {}).is_err());
        local.call(router, &new("/tmp", "http://0.0.0.0:80")).unwrap();
    });
}
