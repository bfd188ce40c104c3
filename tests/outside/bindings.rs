//! Programs of others, as they are, drive the daemon; so do our own client libraries.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use ferrovia_client::messages::{
    AddressUnion, CreateLoopback, FibPath, IfStatusFlags, IpRouteAddDelV2, IpRouteV2Details,
    IpRouteV2Dump, ShowVersion, SwInterfaceEvent, SwInterfaceSetFlags, WantInterfaceEvents,
};
use ferrovia_client::{Client, Error, stats};
use tests::{Daemon, Host, eventually, go, has, is_root};

/// A folder of this repository.
fn folder(path: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).join(path)
}

/// Output of a program that succeeds.
fn output(command: &mut Command) -> String {
    // Not all loaders list the runtime of -fsanitize=address first, wherever it was linked.
    command.env("ASAN_OPTIONS", "verify_asan_link_order=0");
    let output = command.output().expect("the program is there");
    let (text, error) = (output.stdout.as_slice(), output.stderr.as_slice());
    let text = String::from_utf8_lossy(text).into_owned();
    assert!(output.status.success(), "{command:?}\n{text}{}", String::from_utf8_lossy(error));
    text
}

#[test]
fn govpp_drives_the_daemon() {
    let Some(go) = go() else { return };
    let daemon = Daemon::start(&[]);
    let program = daemon.folder().join("example");
    let source = folder("clients/go/example");
    output(Command::new(go).args(["build", "-o"]).arg(&program).arg(".").current_dir(source));
    let mut example = Command::new("timeout");
    example.arg("300").arg(program);
    example.arg("-api").arg(daemon.folder().join("api.sock"));
    example.arg("-stats").arg(daemon.folder().join("stats.sock"));
    let host = is_root().then(Host::alone);
    if let Some(host) = &host {
        example.args(["-tap", "-tap-ns", host.namespace()]);
    }
    let text = output(&mut example);
    let mut lines = vec![
        "version ferrovia 0.1.0",
        "event: interface 1 is up",
        "table 7 false seven",
        "route 7 16.0.0.0/8 1",
        "neighbor 10.0.0.2 02:00:00:00:00:02",
        "pings 100",
        "statistics 1 pg0",
        "statistics 2 loop0",
    ];
    if host.is_some() {
        lines.push("statistics 3 tap0");
    }
    for line in lines {
        assert!(text.lines().any(|l| l.starts_with(line)), "no `{line}` in\n{text}");
    }
    assert!(text.ends_with("ok\n"), "{text}");
    assert!(daemon.tell("show ip fib table 7 16.0.0.0/8").contains("10.0.0.2"));
}

#[test]
fn the_rust_client_asks_lists_floods_and_hears_events() {
    let daemon = Daemon::start(&[]);
    drive(&daemon, Client::connect(daemon.folder().join("api.sock"), "rust").unwrap());
}

#[test]
fn the_rust_client_does_so_through_shared_memory() {
    let daemon = Daemon::start(&[]);
    let socket = daemon.folder().join("api.sock");
    let refused = Client::connect_shared(&socket, "rust", 1 << 30).err();
    assert!(matches!(refused, Some(Error::Refused(-7))), "{refused:?}");
    drive(&daemon, Client::connect_shared(&socket, "rust", 8192).unwrap());
    let rings = || daemon.tell("show api ring-stats");
    assert!(eventually(|| !rings().contains("rust")), "{}", rings());
}

fn drive(daemon: &Daemon, mut client: Client) {
    assert_eq!(client.call(&ShowVersion::default()).unwrap().program, "ferrovia");
    let on = client.call(&CreateLoopback::default()).unwrap().sw_if_index;
    client.call(&WantInterfaceEvents { enable_disable: 1, pid: 9 }).unwrap();
    client.call(&SwInterfaceSetFlags { sw_if_index: on, flags: IfStatusFlags(1) }).unwrap();
    let event = client.event(Duration::from_secs(10)).unwrap().expect("it came up");
    let event: SwInterfaceEvent = client.decode(&event).expect("an event of an interface");
    assert_eq!((event.sw_if_index, event.pid, event.flags.0 & 1), (on, 9, 1));

    let route = |n: u32, on: u32| {
        let mut request = IpRouteAddDelV2::default();
        assert!(request.is_add, "a default of the declaration");
        request.route.prefix.len = 32;
        request.route.prefix.address.un = AddressUnion::of_ip4(&(0x1000_0000 + n).to_be_bytes());
        let path = FibPath { sw_if_index: on, weight: 1, ..Default::default() };
        request.route.paths = vec![path];
        request
    };
    let (mut positions, no_such) = (Vec::new(), 77);
    let requests = (0..20_000).map(|n| route(n, if n % 1000 == 5 { no_such } else { on }));
    let refused = client
        .calls(requests, |position, result| match result {
            Ok(_) => positions.push(position),
            Err(Error::Refused(number)) => assert!(number < 0 && position % 1000 == 5),
            Err(other) => panic!("{other}"),
        })
        .unwrap();
    assert_eq!((refused, positions.len()), (20, 19_980));
    assert!(positions.is_sorted());
    let rows = client.dump(&IpRouteV2Dump::default()).unwrap();
    let is_own = |row: &&IpRouteV2Details| {
        row.route.prefix.address.un.ip4().is_ok_and(|address| address[0] == 16)
    };
    assert_eq!(rows.iter().filter(is_own).count(), 19_980);
    let first = rows.iter().find(is_own).unwrap();
    assert_eq!((first.route.prefix.len, first.route.paths[0].sw_if_index), (32, on));

    let segment = stats::fetch(&daemon.folder().join("stats.sock")).unwrap();
    let names = stats::Reader::new(segment).unwrap().read("/if/names").unwrap();
    let name = Some("loop0".to_owned());
    assert!(matches!(names, Some(stats::Sample::Names(names)) if names[on as usize] == name));
}

#[test]
fn the_python_package_drives_the_daemon() {
    if !has("python3") {
        return;
    }
    let daemon = Daemon::start(&[]);
    let package = daemon.folder().join("ferrovia");
    std::fs::create_dir(&package).unwrap();
    for file in std::fs::read_dir(folder("clients/python/ferrovia")).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "py") {
            std::fs::copy(&path, package.join(path.file_name().unwrap())).unwrap();
        }
    }
    let model = bindings::Model::read(bindings::DESCRIPTIONS.as_ref()).unwrap();
    let python = bindings::LANGUAGES.iter().find(|language| language.name == "python").unwrap();
    std::fs::write(package.join(python.file), (python.write)(&model)).unwrap();
    let mut drive = Command::new("timeout");
    drive.args(["300", "python3"]).arg(folder("clients/python/tests/drive.py"));
    drive.env("PYTHONPATH", daemon.folder());
    drive.arg(daemon.folder().join("api.sock")).arg(daemon.folder().join("stats.sock"));
    assert_eq!(output(&mut drive), "driven\n");
}

#[test]
fn a_program_in_c_drives_the_daemon() {
    if !has("cc") || !has("make") {
        return;
    }
    let daemon = Daemon::start(&[]);
    let out = daemon.folder().join("c");
    std::fs::create_dir(&out).unwrap();
    let model = bindings::Model::read(bindings::DESCRIPTIONS.as_ref()).unwrap();
    let c = bindings::LANGUAGES.iter().find(|language| language.name == "c").unwrap();
    std::fs::write(out.join(c.file), (c.write)(&model)).unwrap();
    let mut make = Command::new("make");
    make.args(["-s", "-C"]).arg(folder("clients/c")).arg(format!("OUT={}", out.display()));
    make.args(["BINDINGS=true", "CFLAGS=-Wall -Wextra -Werror -fsanitize=address,undefined"]);
    output(&mut make);
    let mut example = Command::new("timeout");
    example.arg("300").arg(out.join("example")).arg(daemon.folder().join("api.sock"));
    let text = output(&mut example);
    let end = "interface 0 local0\ninterface 1 loop0\nevent: interface 1 is up\n\
               route to 1, refused with -2\n19999 routes added, 1 refused\n";
    assert!(text.starts_with("version ferrovia ") && text.ends_with(end), "{text}");
    if has("pkg-config") {
        let root = daemon.folder().join("root");
        let mut install = Command::new("make");
        install.args(["-s", "-C"]).arg(folder("clients/c")).arg(format!("OUT={}", out.display()));
        install.args(["BINDINGS=true", "CFLAGS=-fsanitize=address,undefined", "install"]);
        output(install.arg(format!("PREFIX={}", root.display())));
        let mut flags = Command::new("pkg-config");
        flags.args(["--cflags", "--libs", "ferrovia"]);
        let flags = output(flags.env("PKG_CONFIG_PATH", root.join("lib/pkgconfig")));
        let mut cc = Command::new("cc");
        cc.arg(folder("clients/c/example/example.c")).args(flags.split_whitespace());
        output(cc.args(["-fsanitize=address,undefined", "-o"]).arg(out.join("installed")));
        let other = Daemon::start(&[]);
        let mut installed = Command::new(out.join("installed"));
        assert_eq!(output(installed.arg(other.folder().join("api.sock"))), text);
    }
}
