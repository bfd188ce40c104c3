//! The program against a router that knows a few commands.

use std::cell::RefCell;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command as Program, Output as Ended, Stdio};
use std::rc::Rc;
use std::thread;
use std::time::Duration;

use control::cli::{Cli, Command, Error, Output};
use control::config::Listen;
use control::session::{Listener, Server, Settings};

/// Show a number.
#[derive(Command)]
#[command("show number")]
struct ShowNumber;

/// Set the number.
#[derive(Command)]
#[command("set number")]
struct SetNumber {
    /// the number
    #[positional]
    number: u8,
}

fn serve(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("fvctl-{}", std::process::id()));
    let path = folder.join(name);
    std::fs::create_dir_all(&folder).unwrap();
    let address = Listen::Unix(path.clone());
    thread::spawn(move || {
        let mut cli: Cli<u8> = Cli::new();
        cli.command(|cx, _: ShowNumber| Ok(Output::of(*cx)));
        cli.command(|cx, set: SetNumber| {
            if set.number > 9 {
                return Err(Error::new("one digit only"));
            }
            *cx = set.number;
            Ok(())
        });
        let server = Server::new(Rc::new(cli), Rc::new(RefCell::new(0)), Settings::default());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        tokio::task::LocalSet::new().block_on(&runtime, async {
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
    panic!("no socket")
}

fn fvctl(socket: &PathBuf, words: &[&str], input: &str) -> Ended {
    let mut child = Program::new(env!("CARGO_BIN_EXE_fvctl"))
        .arg("-s")
        .arg(socket)
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // With words on the command line, standard input is not read.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

/// Status, standard output, standard error.
fn told(ended: Ended) -> (i32, String, String) {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (ended.status.code().unwrap(), text(ended.stdout), text(ended.stderr))
}

fn expect(ended: Ended, code: i32, out: &str, err: &str) {
    assert_eq!(told(ended), (code, out.to_owned(), err.to_owned()));
}

#[test]
fn one_command_prints_and_tells_its_status() {
    let socket = serve("one.sock");
    expect(fvctl(&socket, &["set", "number", "7"], ""), 0, "", "");
    expect(fvctl(&socket, &["sh", "num"], ""), 0, "7\n", "");
    expect(fvctl(&socket, &["-j", "show number"], ""), 0, "7\n", "");
    expect(fvctl(&socket, &["-j", "set number 8"], ""), 0, "", "");
    expect(fvctl(&socket, &["set number 10"], ""), 1, "", "set number: one digit only\n");
    expect(fvctl(&socket, &["bogus", "-x"], ""), 1, "", "unknown input `bogus -x'\n");
}

#[test]
fn standard_input_is_carried_out_up_to_the_first_error() {
    let socket = serve("many.sock");
    let text = "# set it\nset number 3\n\nshow number\ncomment {\nx\n}\nset number x\nshow number";
    expect(
        fvctl(&socket, &[], text),
        1,
        "3\n",
        "line 8: set number: invalid number `x'\n  set number x\n             ^\n",
    );
    expect(fvctl(&socket, &[], "show number\nquit\nshow number\n"), 0, "3\n", "");
    expect(fvctl(&socket, &[], ""), 0, "", "");
}

#[test]
fn no_router_is_another_status() {
    let nowhere = PathBuf::from("/nonexistent/cli.sock");
    let text = "fvctl: /nonexistent/cli.sock: No such file or directory\n";
    expect(fvctl(&nowhere, &["show number"], ""), 2, "", text);
}

#[test]
fn wrong_options_are_another_status() {
    let nowhere = PathBuf::from("/nonexistent/cli.sock");
    let (status, out, err) = told(fvctl(&nowhere, &["-j", "--socket"], ""));
    assert_eq!((status, &*out), (64, ""));
    assert!(err.contains("--socket"), "{err}");
    let (status, out, _) = told(fvctl(&nowhere, &["--help"], ""));
    assert!(status == 0 && out.contains("--json"), "{out}");
}

#[test]
fn shells_are_told_words_by_the_router_or_without_one() {
    let socket = serve("words.sock");
    let line = format!("fvctl -s {} set ", socket.display());
    expect(
        fvctl(&socket, &["--complete", &line], ""),
        0,
        "number\tSet the number\nterminal\t\n",
        "",
    );
    let (status, out, _) =
        told(fvctl(&socket, &["--complete", "fvctl -s /nonexistent show err"], ""));
    assert!(status == 0 && out.starts_with("errors\t"), "{out}");
}
