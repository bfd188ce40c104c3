//! The security model, `docs/security.md`: each line of its lists has a test.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tests::{Daemon, eventually, is_root, program, unique};

use crate::clients::Client;
use crate::conformance;
use crate::http::{Served, converse};

/// Beginnings of the page's lines, in their order, and the tests that keep them.
const STATEMENTS: &[(&str, &[&str])] = &[
    ("Only the daemon's user and group", &["security::others_connect_to_no_socket"]),
    (
        "With `unix { gid GROUP }` these belong",
        &["privileges::sockets_belong_to_the_group_also_those_that_commands_make"],
    ),
    (
        "A user who can connect to `cli.sock`",
        &["security::who_gives_commands_has_the_rights_of_the_daemon"],
    ),
    ("A user who can connect to `api.sock`", &["security::any_command_is_a_message"]),
    ("Clients of `api.sock` read secrets", &["security::clients_of_the_api_read_secrets_back"]),
    (
        "A user who can connect only to `stats.sock`",
        &["turns::readers_of_the_statistics_never_write_to_them"],
    ),
    ("A command line on TCP", &["security::a_command_line_on_tcp_asks_nobody"]),
    (
        "`statseg { prometheus PORT }`",
        &["security::counters_are_served_on_this_machine_unless_an_address_says_otherwise"],
    ),
    (
        "A default folder for sockets",
        &[
            "security::a_folder_of_somebody_else_is_not_used",
            "socket::tests::folders_of_others_are_not_used",
        ],
    ),
    ("The folder in `/tmp`", &["socket::tests::folders_of_others_are_not_used"]),
    ("A socket never takes", &["socket::tests::paths_may_be_as_long_as_the_kernel_takes"]),
    // HTTP.
    ("Nothing is served", &["http::src::settings::tests::nothing_is_served_unless_told"]),
    (
        "An address that other machines",
        &["http::src::settings::tests::other_machines_need_a_token_and_tls"],
    ),
    (
        "A file of tokens",
        &["http::src::tokens::tests::files_of_everybody_are_refused_and_those_made_are_the_owners"],
    ),
    ("Without the right token", &["http::strangers_are_refused"]),
    ("A token without `read-only`", &["http::commands_statistics_and_configurations_go_over_http"]),
    ("A `read-only` token sees", &["security::a_read_only_token_sees_what_there_is"]),
    (
        "A `read-only` token runs no command",
        &[
            "http::files_of_tokens_say_who_may_only_look",
            "http::src::routes::tests::endpoints_are_there_once_and_looking_changes_nothing",
        ],
    ),
    ("A Unix socket for HTTP", &["security::a_socket_of_http_asks_for_no_token"]),
    (
        "A page of another site",
        &["http::src::guard::tests::pages_of_others_and_names_of_others_are_refused"],
    ),
    (
        "Each request is one command",
        &["http::src::request::tests::a_parameter_is_never_a_second_command"],
    ),
    ("Paths of requests", &["http::strangers_are_refused"]),
    // Host stack.
    (
        "The session layer and its applications are off",
        &[
            "control::tests::layer::while_it_is_disabled_requests_are_refused",
            "hs_apps::tests::it_is_off_until_it_is_asked_for_and_prints_itself",
        ],
    ),
    (
        "`http cli server` has no login",
        &["cli_over_http::commands_that_show_are_answered_and_no_others"],
    ),
    (
        "It runs commands that begin",
        &[
            "cli_over_http::commands_that_show_are_answered_and_no_others",
            "hs_apps::tests::a_path_is_a_command_that_shows_or_it_is_refused",
        ],
    ),
    (
        "A web page opened by an administrator",
        &["cli_over_http::pages_of_browsers_are_not_answered"],
    ),
    (
        "`http static server` serves regular files",
        &["http_static::tests::only_files_beneath_the_folder_are_served"],
    ),
    ("A namespace with a secret", &["control::tests::layer::a_secret_admits_and_is_not_shown"]),
    (
        "App sockets, through which programs attach",
        &["apps::tests::without_being_enabled_there_is_no_socket_and_only_the_group_may_connect"],
    ),
    (
        "A program cannot write to memory",
        &["tests::the_routers_region_cannot_be_mapped_for_writing_and_none_is_cut_short"],
    ),
    (
        "A program that writes garbage",
        &[
            "apps::tests::positions_that_cannot_be_end_the_session_and_many_the_attachment",
            "apps::tests::rings_that_cannot_be_end_the_attachment_and_nothing_else",
            "apps::tests::scribbling_over_its_memory_costs_a_program_its_sessions_and_no_others",
        ],
    ),
    (
        "A program that dies at any step",
        &[
            "apps::tests::a_program_that_dies_at_any_step_leaves_nothing",
            "apps::tests::what_a_program_has_closed_arrives_after_its_death",
        ],
    ),
    (
        "Each wrong secret",
        &["apps::tests::a_namespace_is_for_those_who_know_its_secret_and_guesses_take_time"],
    ),
    (
        "A program gets no more than its share",
        &[
            "apps::tests::attacks::the_programs_bell_is_not_for_writing_so_nothing_fills_it",
            "apps::tests::attacks::descriptors_that_take_long_to_close_keep_nobody_waiting",
            "apps::tests::attacks::a_program_that_writes_as_fast_as_it_is_read_has_its_share_of_a_turn",
            "data::tests::bounds::one_application_leaves_sessions_for_the_next",
        ],
    ),
    (
        "Descriptors that arrive",
        &["apps::tests::attacks::descriptors_that_take_long_to_close_keep_nobody_waiting"],
    ),
    ("Text from peers", &["log::tests::no_text_begins_an_entry_of_its_own"]),
    (
        "Private keys of certificates",
        &["control::tests::layer::a_certificate_goes_with_its_key_only"],
    ),
    // Secrets and files.
    (
        "Keys, secrets and cookies",
        &[
            "secrets::no_secret_is_in_what_the_router_shows_or_writes_for_others",
            "secrets::messages_are_traced_without_their_keys_and_saved_for_nobody_else",
        ],
    ),
    (
        "`save`, the history",
        &[
            "secrets::no_secret_is_in_what_the_router_shows_or_writes_for_others",
            "secrets::messages_are_traced_without_their_keys_and_saved_for_nobody_else",
            "security::files_are_for_the_daemons_user_alone",
        ],
    ),
    ("Captures, event logs", &["security::files_are_for_the_daemons_user_alone"]),
    (
        "Such a file never",
        &["private_file::tests::only_files_of_the_kind_are_replaced_and_no_links_followed"],
    ),
    ("No file that the daemon creates", &["security::no_file_is_for_everybody_to_write"]),
    ("The daemon leaves no core", &["security::no_core_is_left"]),
    ("Dry runs", &["ferrovia::src::every_command::no_command_of_a_trial_touches_files"]),
    (
        "A dry run ends with an error",
        &["all::tests::configuration::a_trial_that_takes_too_much_memory_is_ended"],
    ),
    // Privileges.
    ("All threads drop", &["privileges::what_no_router_needs_is_given_up_by_all_threads"]),
    ("Data-plane threads keep", &["privileges::what_no_router_needs_is_given_up_by_all_threads"]),
    ("`unix { capabilities", &["privileges::the_configuration_says_what_is_kept"]),
    (
        "A plugin in a file",
        &["files::both_samples_come_and_go_a_hundred_times_and_no_packet_is_lost"],
    ),
    // Limits.
    ("The command line has at most 256", &["sockets::idle_clients_keep_nobody_away"]),
    (
        "Clients that send garbage",
        &[
            "clients::nonsense_harms_only_who_sends_it",
            "clients::a_thousand_half_open_clients_and_one_that_does_not_read_harm_nobody",
            "turns::huge_and_half_messages_of_many_clients_hold_up_nobody",
        ],
    ),
    (
        "Clients that write garbage into",
        &[
            "api::server::tests::who_writes_nonsense_into_shared_memory_is_hung_up_on",
            "api::server::tests::clients_that_die_at_any_step_hold_up_nobody_and_leave_nothing",
        ],
    ),
    ("HTTP has at most 128", &["http::half_open_connections_disturb_nobody"]),
    (
        "Neighbours and packets",
        &[
            "neighbor::tests::an_interface_that_floods_leaves_room_for_neighbours_on_others",
            "reassembly::tests::a_flood_of_fragments_on_one_interface_leaves_room_for_others_and_is_named",
        ],
    ),
    (
        "Long work started by",
        &[
            "turn::tests::others_have_their_turn_though_there_is_always_more_to_do",
            "turns::endless_requests_without_pauses_hold_up_nobody",
        ],
    ),
    (
        "A peer of memif",
        &[
            "shared::tests::both_see_the_same_bytes_and_nothing_outside",
            "shared::tests::memory_that_is_taken_away_is_zeroes_and_known_to_be",
            "targets::any_peer_shares_memory_or_is_refused",
            "targets::any_machine_shares_memory_or_is_refused",
        ],
    ),
    ("Malformed packets", &["targets::any_frame_is_forwarded_or_dropped_once"]),
    (
        "An unauthenticated peer",
        &[
            "machine::attacks::a_source_has_its_share_of_places_and_no_more",
            "work::tests::associations_come_first_and_sources_take_turns",
            "machine::parts::tests::who_proved_nothing_gets_less_room",
        ],
    ),
    (
        "A tunnel that IPsec",
        &[
            "ipsec::tests::a_protected_tunnel_takes_no_packet_that_nothing_opened",
            "ipsec::tests::a_held_tunnel_sends_nothing_until_it_is_protected",
            "ikev2::tests::the_tunnel_of_a_profile_carries_nothing_without_keys",
        ],
    ),
    // Not protected.
    ("Administrators are not", &["security::who_gives_commands_has_the_rights_of_the_daemon"]),
    ("Commands over TCP", &["security::a_command_line_on_tcp_asks_nobody"]),
    ("ARP and neighbour", &["neighbor::tests::what_is_said_to_all_changes_only_what_is_known"]),
];

#[test]
fn every_line_of_the_page_has_a_test() {
    let page = fs::read_to_string(conformance::root().join("docs/security.md")).unwrap();
    let lines: Vec<_> = page.lines().filter_map(|line| line.strip_prefix("- ")).collect();
    for (line, (beginning, _)) in lines.iter().zip(STATEMENTS) {
        assert!(line.starts_with(beginning), "no test is named for: {line}");
    }
    assert_eq!(lines.len(), STATEMENTS.len());
    let is_there = conformance::tests();
    for (beginning, tests) in STATEMENTS {
        assert!(!tests.is_empty(), "{beginning}");
        let missing: Vec<_> = tests.iter().filter(|test| !is_there(test)).collect();
        assert!(missing.is_empty(), "{beginning}: there is no test {missing:?}");
    }
}

/// Number of the group `daemon`, which every system has.
fn group() -> u32 {
    let groups = fs::read_to_string("/etc/group").unwrap();
    let line = groups.lines().find_map(|line| line.strip_prefix("daemon:x:")).unwrap();
    line.split(':').next().unwrap().parse().unwrap()
}

/// Whether a process without privileges, in this group, can connect to the socket.
fn connects(path: &Path, group: u32) -> bool {
    const SCRIPT: &str = "
import socket, sys
for kind in socket.SOCK_STREAM, socket.SOCK_SEQPACKET:
    try:
        socket.socket(socket.AF_UNIX, kind).connect(sys.argv[1])
        sys.exit(0)
    except PermissionError:
        sys.exit(13)
    except OSError:
        pass
sys.exit(1)";
    let mut other = Command::new("/usr/bin/python3");
    let status = other.args(["-c", SCRIPT]).arg(path).uid(65_534).gid(group).status().unwrap();
    assert_ne!(status.code(), Some(1), "{}: nobody listens", path.display());
    status.success()
}

#[test]
fn others_connect_to_no_socket() {
    if !is_root() {
        return;
    }
    let name = format!("/tmp/{}.sock", unique());
    let daemon =
        Daemon::start_with(&format!("unix {{ gid daemon }} http {{ listen unix {name} }}"), &[]);
    let folder = daemon.folder().display();
    for line in [
        format!("create memif socket id 1 filename {folder}/memif.sock"),
        "create interface memif id 0 socket-id 1 master".to_owned(),
        format!("create vhost-user socket {folder}/vhost.sock server"),
        "capture start stream".to_owned(),
    ] {
        daemon.tell(&line);
    }
    let entries = fs::read_dir(daemon.folder()).unwrap().flatten();
    let sockets = entries.filter(|entry| entry.file_type().unwrap().is_socket());
    let mut sockets: Vec<PathBuf> = sockets.map(|entry| entry.path()).collect();
    assert_eq!(sockets.len(), 6, "{sockets:?}");
    sockets.push(name.into());
    for socket in &sockets {
        assert!(!connects(socket, 65_534), "{}", socket.display());
        assert!(connects(socket, group()), "{}", socket.display());
    }
}

/// Runs a command without privileges, as a member of the group of the sockets.
fn tell_as_member(daemon: &Daemon, line: &str) -> Output {
    let fvctl = daemon.folder().join("fvctl");
    if !fvctl.exists() {
        fs::copy(program("fvctl"), &fvctl).unwrap();
    }
    let mut other = Command::new(fvctl);
    other.arg("-s").arg(daemon.folder().join("cli.sock")).arg(line).stdin(Stdio::null());
    other.uid(65_534).gid(group()).output().unwrap()
}

#[test]
fn who_gives_commands_has_the_rights_of_the_daemon() {
    if !is_root() {
        return;
    }
    let daemon = Daemon::start_with("unix { gid daemon }", &[]);
    let [secret, saved] = ["secret", "saved"].map(|name| daemon.folder().join(name));
    fs::write(&secret, "create loopback interface\n").unwrap();
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
    for line in [format!("exec {}", secret.display()), format!("save {}", saved.display())] {
        let done = tell_as_member(&daemon, &line);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }
    assert!(fs::read_to_string(saved).unwrap().contains("create loopback interface"));
}

#[test]
fn any_command_is_a_message() {
    let daemon = Daemon::start(&[]);
    let mut client = Client::connect(&daemon);
    let line = b"create loopback interface";
    let text = [&(line.len() as u32).to_be_bytes()[..], line].concat();
    let answer = client.ask("cli_inband", &text);
    assert_eq!(answer[6..10], [0; 4], "{answer:?}");
    assert!(daemon.tell("show interface").contains("loop0"));
}

#[test]
fn clients_of_the_api_read_secrets_back() {
    let daemon = Daemon::start(&[
        "create l2tpv3 tunnel client 2001:db8::2 our 2001:db8::1 local-cookie 0xc00c1e0100000000 \
         remote-cookie 0xc00c1e02 local-session 1 remote-session 2",
    ]);
    let mut client = Client::connect(&daemon);
    let answer = client.ask("sw_if_l2tpv3_tunnel_dump", &[]);
    let cookie = [0xc0, 0x0c, 0x1e, 0x01];
    let has = |cookie: &[u8]| answer.windows(cookie.len()).any(|bytes| bytes == cookie);
    let reversed: Vec<u8> = cookie.iter().rev().copied().collect();
    assert!(has(&cookie) || has(&reversed), "{answer:x?}");
}

/// A free port.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[test]
fn a_command_line_on_tcp_asks_nobody() {
    let (folder, port) = (std::env::temp_dir().join(unique()), free_port());
    fs::create_dir_all(&folder).unwrap();
    let words =
        format!("unix {{ nodaemon runtime-dir {} cli-listen localhost:{port} }}", folder.display());
    let mut router = Command::new(program("ferrovia"));
    let mut router = router.args(words.split(' ')).stdin(Stdio::null()).spawn().unwrap();
    let mut text = Vec::new();
    let is_answered = eventually(|| {
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) else { return false };
        stream.write_all(b"show version\nquit\n").unwrap();
        text.clear();
        let is_read = stream.read_to_end(&mut text).is_ok();
        is_read && String::from_utf8_lossy(&text).contains("ferrovia v")
    });
    router.kill().unwrap();
    router.wait().unwrap();
    fs::remove_dir_all(folder).unwrap();
    assert!(is_answered, "{}", String::from_utf8_lossy(&text));
}

#[test]
fn counters_are_served_on_this_machine_unless_an_address_says_otherwise() {
    for (stanza, address) in [("", "0100007F"), ("0.0.0.0:", "00000000")] {
        let port = free_port();
        let daemon = Daemon::start_with(&format!("statseg {{ prometheus {stanza}{port} }}"), &[]);
        let sockets = fs::read_to_string(format!("/proc/{}/net/tcp", daemon.id())).unwrap();
        let listening = format!(": {address}:{port:04X} 00000000:0000 0A ");
        assert!(sockets.contains(&listening), "{listening} is not in {sockets}");
    }
}

/// Output of a router whose folder of sockets was set up by the shell command `make`; `as_user`
/// is the command to change the user with.
fn refused_in(make: &str, as_user: &str) -> String {
    let script = format!(
        "set -e; mount -t tmpfs none /run; touch /run/ferrovia
        mount --bind {} /run/ferrovia
        {make}
        {as_user} timeout 20 /run/ferrovia unix {{ nodaemon }} --check 2>&1 || true
        {as_user} timeout 20 /run/ferrovia unix {{ nodaemon }} 2>&1 || true",
        program("ferrovia").display()
    );
    let output = Command::new("unshare").args(["--mount", "sh", "-c", &script]).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    String::from_utf8_lossy(&text).into_owned()
}

#[test]
fn a_folder_of_somebody_else_is_not_used() {
    if !is_root() {
        return;
    }
    let as_nobody = "setpriv --reuid 65534 --regid 65534 --clear-groups";
    for (make, as_user, folder) in [
        ("mkdir /run/vpp; chown 65534 /run/vpp", "", "/run/vpp"),
        ("mkdir /run/o; chown 65534 /run/o; ln -s /run/o /run/vpp", "", "/run/vpp"),
        (
            "mkdir -p -m 777 /run/user/65534/vpp; chown 1 /run/user/65534/vpp",
            as_nobody,
            "/run/user/65534/vpp",
        ),
    ] {
        let text = refused_in(make, as_user);
        let said = format!("ferrovia: {folder} belongs to another user: name a folder");
        assert_eq!(text.matches(&said).count(), 2, "{make}: {text}");
    }
}

/// A router that serves HTTP at a socket and to a token that may only look.
fn served(more: &str) -> (Served, PathBuf) {
    let folder = std::env::temp_dir().join(unique());
    fs::create_dir_all(&folder).unwrap();
    let (tokens, socket) = (folder.join("tokens"), folder.join("http.sock"));
    fs::write(&tokens, "aaaaaaaaaaaaaaaaaaaa Ada\nbbbbbbbbbbbbbbbbbbbb read-only wall\n").unwrap();
    fs::set_permissions(&tokens, fs::Permissions::from_mode(0o600)).unwrap();
    let more = more.replace("TOKENS", &tokens.display().to_string());
    let served = Served::start(&format!("{more} listen unix {}", socket.display()));
    (served, folder)
}

#[test]
fn a_read_only_token_sees_what_there_is() {
    let (mut served, folder) = served("token-file TOKENS");
    for line in [
        "bfd key set conf-key-id 3 type keyed-sha1 secret dead00beef11",
        "trace add pg-input 3",
        "packet-generator new { name s limit 5 size 100-100 interface pg0 node ethernet-input \
         data { IP4: 02:00:00:00:00:01 -> 02:00:00:00:00:aa UDP: 10.0.0.2 -> 16.0.0.1 \
         UDP: 1 -> 2 incrementing 30 } }",
    ] {
        served.daemon.tell(line);
    }
    served.token = "aaaaaaaaaaaaaaaaaaaa".to_owned();
    assert_eq!(served.json("POST /api/v1/capture", r#"{"rx": true}"#).0, 200);
    served.daemon.generate();
    assert_eq!(served.json("DELETE /api/v1/capture", "").0, 200);
    served.token = "bbbbbbbbbbbbbbbbbbbb".to_owned();
    for path in ["interfaces", "fib", "sessions?kind=acl", "trace", "capture/file", "configuration"]
    {
        let (status, said) = served.json(&format!("GET /api/v1/{path}"), "");
        assert_eq!(status, 200, "{path}: {said}");
        let said = said.to_string();
        assert!(!said.contains("dead00beef11"), "{said}");
        let is_there = match path {
            "trace" => said.contains("ethernet-input"),
            "configuration" => said.contains("secret <hidden>"),
            _ => true,
        };
        assert!(is_there, "{path}: {said}");
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_socket_of_http_asks_for_no_token() {
    for (more, expected) in [("", 200), ("token-file TOKENS", 401)] {
        let (_served, folder) = served(more);
        let stream = UnixStream::connect(folder.join("http.sock")).unwrap();
        let (status, said) = converse(stream, "GET /api/v1/version", "Host: localhost\r\n", "");
        assert_eq!(status, expected, "{said}");
        fs::remove_dir_all(folder).unwrap();
    }
}

/// Files below a folder, with their permissions.
fn files(folder: &Path) -> Vec<(PathBuf, u32)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let about = fs::symlink_metadata(entry.path()).unwrap();
        all.push((entry.path(), about.permissions().mode() & 0o777));
        if about.is_dir() {
            all.extend(files(&entry.path()));
        }
    }
    all
}

/// A router under this umask that has written all kinds of files into its folder.
fn written(umask: &str) -> Daemon {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("umask {umask}; exec \"$0\" \"$@\"")]).arg(program("ferrovia"));
    let port = free_port();
    let daemon = Daemon::start_by(command, &format!("http {{ listen {port} }}"), crate::GENERATORS);
    let folder = daemon.folder().display();
    daemon.tell(&format!("capture start rx file {folder}/new.pcapng"));
    daemon.tell("capture stop capture");
    for line in [
        format!("pcap trace rx file {folder}/new.pcap"),
        format!("show vlib graphviz {folder}/new.dot"),
        format!("save {folder}/new.saved"),
        "commit first".to_owned(),
    ] {
        daemon.tell(&line);
    }
    daemon.ask("pcap trace off");
    daemon
}

#[test]
fn files_are_for_the_daemons_user_alone() {
    let daemon = written("022");
    let all = files(daemon.folder());
    let is_private = |name: &str| {
        let found: Vec<_> =
            all.iter().filter(|(p, _)| p.to_string_lossy().contains(name)).collect();
        assert!(!found.is_empty(), "{name} is not in {all:?}");
        assert!(found.iter().all(|(_, mode)| mode & 0o077 == 0), "{name}: {found:x?}");
    };
    for name in ["new.pcapng", "new.pcap", "new.dot", "new.saved", "http.token", "history"] {
        is_private(name);
    }
}

#[test]
fn no_file_is_for_everybody_to_write() {
    let daemon = written("000");
    for (path, mode) in files(daemon.folder()) {
        // What the test itself has made is not the router's.
        let is_ours = ["startup.conf", "output"].iter().any(|name| path.ends_with(name));
        assert!(is_ours || mode & 0o002 == 0, "{}: {mode:o}", path.display());
    }
}

#[test]
fn no_core_is_left() {
    let daemon = Daemon::start(&[]);
    let limits = fs::read_to_string(format!("/proc/{}/limits", daemon.id())).unwrap();
    let line = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
    assert_eq!(line.split_whitespace().nth(4), Some("0"), "{line}");
}
