use std::cell::Cell;
use std::path::PathBuf;
use std::time::Duration;

use proptest::prelude::*;
use serde::Serialize;

use super::*;
use crate::secret::Secret;

/// Traces of the commands of the tests.
#[derive(Default)]
struct Toy {
    things: Vec<CreateThing>,
    routes: u32,
    steps: Cell<u32>,
}

/// Create a thing.
#[derive(Command, Clone, Debug, PartialEq)]
#[command("create thing")]
struct CreateThing {
    /// its name
    #[positional]
    #[values("thing")]
    name: String,
    /// its size
    size: Option<u32>,
    /// hardware address
    #[keyword("hw-addr")]
    #[alias("mac")]
    address: Option<String>,
    /// labels
    label: Vec<u8>,
    /// delete it
    del: bool,
}

/// Set an interface's state.
#[derive(Command)]
#[command("set interface state")]
struct SetState {
    /// interface
    #[positional]
    interface: Word,
    /// up or down
    #[positional]
    _state: String,
}

/// Show errors.
#[derive(Command)]
#[command("show errors", "show counters errors")]
struct ShowErrors;

/// Show a neighbor, all without a number.
#[derive(Command)]
#[command("show ethernet")]
struct ShowEthernet {
    /// number
    #[positional]
    number: Option<u32>,
}

/// Show one port.
#[derive(Command)]
#[command("show ethernet port")]
struct ShowPort {
    /// its number
    #[positional]
    number: Option<u32>,
}

/// Ping.
#[derive(Command)]
#[command("ping")]
struct Ping {
    /// number of times
    repeat: u32,
}

/// Panic.
#[derive(Command)]
#[command("test panic")]
struct Panic;

/// `ip route …`, by hand.
struct Route;

impl Command for Route {
    const PATHS: &'static [&'static str] = &["ip route"];
    const ABOUT: &'static str = "Add a route";
    const USAGE: &'static str = "add <prefix> via <address>";

    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        args.keyword("add");
        let prefix: String = args.value("prefix")?;
        let len: u8 = prefix.split('/').nth(1).and_then(|len| len.parse().ok()).unwrap_or(0);
        if len > 32 {
            return Err(Error::bare(format!("Invalid prefix len: {len}")));
        }
        let via = *args;
        if !args.keyword("via") || args.word().is_none() || !args.is_empty() {
            return Err(via.error("parse error"));
        }
        Ok(Self)
    }
}

#[derive(Serialize)]
struct Report {
    count: u32,
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} errors", self.count)
    }
}

struct Pings(u32);

impl Task<Toy> for Pings {
    fn step(&mut self, cx: &mut Toy, out: &mut Output) -> Step {
        use std::fmt::Write;
        cx.steps.set(cx.steps.get() + 1);
        if self.0 == 0 {
            return Step::Done(Err("no reply".into()));
        }
        self.0 -= 1;
        writeln!(out, "ping").unwrap();
        if self.0 == 0 { Step::Again } else { Step::Sleep(Duration::from_millis(1)) }
    }
}

fn toy() -> Cli<Toy> {
    let mut cli: Cli<Toy> = Cli::new();
    cli.command(|cx, c: CreateThing| {
        cx.things.push(c);
        Ok(())
    });
    cli.command(|_, set: SetState| Err::<(), _>(set.interface.unknown("interface")));
    cli.command(|_, _: ShowErrors| Ok(Output::of(Report { count: 3 })));
    cli.command(|_, e: ShowEthernet| Ok(format!("ethernet {:?}", e.number)));
    cli.command(|_, port: ShowPort| {
        Ok(port.number.map_or("port".to_owned(), |number| format!("port {number}")))
    });
    cli.command(|cx, _: Route| {
        cx.routes += 1;
        Ok(())
    });
    cli.command(|_, _: Panic| -> Result<(), Error> { panic!("on purpose") });
    cli.task(|_, ping: Ping| Ok(Box::new(Pings(ping.repeat)) as Box<dyn Task<Toy>>));
    cli.values("thing", |cx| cx.things.iter().map(|t| t.name.clone()).collect());
    cli.check().unwrap();
    cli
}

fn run(text: &str) -> String {
    toy().run(&mut Toy::default(), text).text()
}

/// Meet at an end.
#[derive(Command)]
#[command("meet")]
struct Meet {
    /// address and port
    #[positional]
    end: std::net::SocketAddrV4,
}

#[test]
fn blanks_may_stand_around_the_dash_of_a_range() {
    for text in ["5-7 x", "5 - 7 x", "5- 7 x", "5 -7 x"] {
        let mut args = Args::new(text);
        assert_eq!(args.range::<u16>("port").unwrap(), (5, Some(7)), "{text}");
        assert_eq!(args.word(), Some("x"), "{text}");
    }
    let mut args = Args::new("5 x-y");
    assert_eq!((args.range::<u16>("port").unwrap(), args.word()), ((5, None), Some("x-y")));
    for (text, wrong) in [("a-7", "`a'"), ("5-b", "`b'"), ("5 -", "port")] {
        let error = Args::new(text).range::<u16>("port").unwrap_err().to_string();
        assert!(error.contains(wrong), "{text}: {error}");
    }
}

#[test]
fn blanks_may_stand_inside_addresses() {
    let words = "in 10.0.0.0 / 8 to 2001:db8:: / 32 10.0.0.1 : 80 a / 8 10.0.0.1 / x";
    let joined = "in 10.0.0.0/8 to 2001:db8::/32 10.0.0.1:80 a / 8 10.0.0.1 / x";
    assert_eq!(Args::new(words).joined().as_deref(), Some(joined));
    assert_eq!(Args::new("10.0.0.1/8 :").joined(), None);
    let mut cli = Cli::new();
    cli.command(|_: &mut Toy, m: Meet| Ok(m.end.to_string()));
    let run = |line: &str| cli.run(&mut Toy::default(), line).text();
    assert_eq!(run("meet 10.0.0.1 : 80"), "10.0.0.1:80\n");
    assert!(run("meet 10.0.0.1 : x").contains("10.0.0.1 : x"));
}

#[test]
fn commands_are_counted() {
    let mut cli = Cli::new();
    cli.command(|_: &mut Toy, m: Meet| Ok(m.end.to_string()));
    let run = |line: &str| cli.run(&mut Toy::default(), line).text();
    run("meet 10.0.0.1:80");
    run("meet 10.0.0.1:81");
    assert_eq!(run("show cli hit"), "meet: 2\nshow cli: 1\n");
    assert_eq!(run("show cli not-mp-safe"), "");
    assert!(run("show cli mp-safe").contains("meet\n"));
    assert!(!run("show cli hit clear-hit").contains("meet"));
}

#[test]
fn arguments_come_in_any_order() {
    let thing = CreateThing {
        name: "pg0".into(),
        size: Some(7),
        address: Some("aa".into()),
        label: vec![1, 2],
        del: true,
    };
    for line in [
        "create thing pg0 size 7 hw-addr aa label 1 label 2 del",
        "cr th del label 1 mac aa pg0 label 2 size 7",
        "  create\tthing pg0 del size 7 mac aa label 1 label 2 \r\n",
    ] {
        let mut cx = Toy::default();
        assert_eq!(toy().run(&mut cx, line).text(), "");
        assert_eq!(cx.things, std::slice::from_ref(&thing));
    }
}

#[test]
fn words_need_no_blanks_in_between() {
    for line in
        ["create thing pg0 size7del", "create thing pg0 size 7del", "create thing pg0 delsize 7"]
    {
        let mut cx = Toy::default();
        assert_eq!(toy().run(&mut cx, line).text(), "", "{line}");
        let thing = &cx.things[0];
        assert_eq!((&*thing.name, thing.size, thing.del), ("pg0", Some(7), true), "{line}");
    }
    for (line, error) in [
        ("pg0 size 4294967296", "invalid size `4294967296'"),
        ("pg0 size 7x", "invalid size `7x'"),
        ("pg0 size-7", "unknown input `size-7'"),
        ("pg0 delete", "unknown input `delete'"),
    ] {
        let mut cx = Toy::default();
        let text = toy().run(&mut cx, &format!("create thing {line}")).text();
        assert_eq!(text, format!("create thing: {error}\n"));
        assert!(cx.things.is_empty(), "nothing of it is carried out");
    }
}

#[test]
fn errors_read_as_clients_expect() {
    for (line, error) in [
        ("bogus cmd", "unknown input `bogus cmd'"),
        ("show bogus", "show: unknown input `bogus'"),
        ("show", "show: unknown input `'"),
        ("", "unknown input `'"),
        (" \n ", "unknown input `'"),
        ("show errors now", "show errors: unknown input `now'"),
        ("show ethernet x", "show ethernet: unknown input `x'"),
        ("sh counters err x", "show counters errors: unknown input `x'"),
        ("set interface state nosuch up", "set interface state: unknown interface `nosuch up'"),
        ("ip route add 10.0.0.0/33 via 1.2.3.4", "Invalid prefix len: 33"),
        (
            "ip route add 10.0.0.0/8 via 1.2.3.4 nosuch",
            "ip route: parse error `via 1.2.3.4 nosuch'",
        ),
        ("ip route add 19.0.0.0/8 drop", "ip route: parse error `drop'"),
        ("exec /nonexistent", "exec: failed to open `/nonexistent': No such file or directory"),
        ("exec /tmp", "exec: failed to open `/tmp': not a regular file"),
        ("create thing", "create thing: missing name"),
        ("create thing x size", "create thing: missing size"),
        ("create thing x size big", "create thing: invalid size `big'"),
        ("create thing x y", "create thing: unknown input `y'"),
        ("e", "ambiguous input `e': echo, exec, exit"),
        ("show e x", "show: ambiguous input `e x': errors, ethernet"),
        ("test panic", "test panic: internal error: on purpose"),
    ] {
        assert_eq!(run(line), format!("{error}\n"), "{line}");
    }
}

#[test]
fn a_person_is_told_what_was_probably_meant() {
    let told = |text: &str| {
        let reply = toy().run(&mut Toy::default(), text);
        reply.result.unwrap_err().for_person()
    };
    assert_eq!(told("show erors"), "show: unknown input `erors' (did you mean `errors'?)");
    assert_eq!(
        told("create thing a lable 1"),
        "create thing: unknown input `lable 1' (did you mean `label'?)"
    );
    assert_eq!(told("show qqqqq"), "show: unknown input `qqqqq'");
    assert_eq!(told("show x"), "show: unknown input `x'");
}

/// Switch something.
#[derive(Command, Print, Debug, PartialEq)]
#[command("switch")]
struct Switch {
    /// interface
    #[positional]
    interface: String,
    /// how
    #[positional]
    #[words]
    shape: Option<Shape>,
    /// for which version
    #[positional]
    #[words]
    version: wire::IpVersion,
    /// take it back
    #[alias("delete")]
    #[opposite("add")]
    del: bool,
}

#[test]
fn words_of_a_choice_may_stand_anywhere() {
    let line = "pg0 hash ip6 del";
    let wanted = Switch::parse(&mut Args::new(line)).unwrap();
    assert_eq!(Line::of(&wanted, &()), format!("switch {line}"));
    for line in
        ["del hash ip6 pg0", "ip6 pg0 del hash", "hash add pg0 delete ip6", "ip6 delete pg0 hash"]
    {
        assert_eq!(Switch::parse(&mut Args::new(line)).unwrap(), wanted, "{line}");
    }
    let kept = Switch::parse(&mut Args::new("ip4 del add pg0")).unwrap();
    assert_eq!((kept.del, kept.shape), (false, None), "the last word counts");
    for (line, why) in [
        ("pg0", "missing version"),
        ("ip4", "missing interface"),
        ("pg0 ipx", "invalid version `ipx'"),
        ("pg0 ip4 round", "unknown input `round'"),
    ] {
        assert_eq!(Switch::parse(&mut Args::new(line)).unwrap_err().to_string(), why, "{line}");
    }
    let names: Vec<_> = Switch::ARGS.iter().map(|arg| (arg.name, arg.help)).collect();
    assert_eq!(names[3..], [("del", "take it back"), ("add", "not del")]);
}

/// Lead a number of the same kind to a place.
#[derive(Command, Debug, PartialEq)]
#[command("lead")]
struct Lead {
    /// number
    #[positional]
    number: u16,
    /// place
    #[positional]
    place: std::net::IpAddr,
    /// another number
    #[positional]
    other: Option<u16>,
    /// description
    #[positional]
    about: Option<String>,
}

#[test]
fn a_word_is_for_the_first_position_that_takes_it() {
    let wanted = Lead {
        number: 16,
        place: "1.2.3.4".parse().unwrap(),
        other: Some(7),
        about: Some("x".into()),
    };
    for line in ["16 1.2.3.4 7 x", "1.2.3.4 0x10 0X7 x", "16 7 1.2.3.4 x"] {
        assert_eq!(Lead::parse(&mut Args::new(line)).unwrap(), wanted, "{line}");
    }
    for (line, why) in [
        ("nosuch 1.2.3.4", "invalid number `nosuch 1.2.3.4'"),
        ("1.2.3.4 x", "invalid number `x'"),
        ("5 x", "invalid place `x'"),
        ("0x10000 1.2.3.4", "invalid number `0x10000 1.2.3.4'"),
        ("5", "missing place"),
    ] {
        assert_eq!(Lead::parse(&mut Args::new(line)).unwrap_err().to_string(), why, "{line}");
    }
}

/// A command whose usage line is broken.
struct Broken;

impl Command for Broken {
    const PATHS: &'static [&'static str] = &["broken"];
    const ABOUT: &'static str = "Break";
    const USAGE: &'static str = "[open";

    fn parse(_: &mut Args<'_>) -> Result<Self, Error> {
        Ok(Self)
    }
}

#[test]
fn usage_lines_are_read_when_commands_are_registered() {
    let mut cli = toy();
    cli.command(|_, _: Broken| Ok(()));
    assert_eq!(cli.check(), Err(Fault::Usage("broken")));
    assert!(cli.paths().contains(&"create thing".to_owned()));
}

#[test]
fn variables_stand_for_their_values() {
    let text =
        "define what errors\ndefine line show $(what)\n$line\necho $what-$(none)$ $5\nshow macro";
    assert_eq!(
        run(text),
        "3 errors\nerrors-$(none)$ $5\nline                 show errors\nwhat                 \
            errors\n"
    );
    assert_eq!(
        run("define a $a\ndefine b x$b\necho $a $b\nshow macro noevaluate").lines().count(),
        3
    );
    let doubled = run("define a $a$a$a$a$a$a$a$a$a$a$a$a$a$a$a$a\necho $a");
    assert!(doubled.len() < 2 << 20, "{}", doubled.len());
    assert_eq!(run("undefine a"), "undefine: unknown variable `a'\n");
    assert_eq!(run("define a! 1"), "define: invalid variable name `a!'\n");
    assert_eq!(run("define a 1\nundefine a\necho $a"), "$a\n");
}

#[test]
fn commands_wait() {
    let start = std::time::Instant::now();
    assert_eq!(run("wait 0.02\nsuspend\nsh err"), "3 errors\n");
    assert!(start.elapsed() >= Duration::from_millis(50));
    assert_eq!(run("wait -1"), "wait: invalid sec `-1'\n");
    assert_eq!(run("show terminal\nsh err"), "the session has no terminal\n");
}

#[test]
fn comments_may_end_lines_and_a_byte_order_mark_begin_a_text() {
    assert_eq!(
        run("\u{feff}show errors # why\nshow ethernet 4 #\n"),
        "3 errors\nethernet Some(4)\n"
    );
    assert_eq!(run("\u{feff}# all of it\nshow errors"), "3 errors\n");
    assert_eq!(run("echo a # b"), "a # b\n");
    assert_eq!(run("show errors #1"), "show errors: unknown input `#1'\n");
}

#[test]
fn lines_that_end_with_a_backslash_go_on() {
    assert_eq!(run("show \\\n  errors\nshow ethernet\\\r\n 4"), "3 errors\nethernet Some(4)\n");
    assert_eq!(run("show errors \\  \n\nshow \\ errors"), "3 errors\n3 errors\n");
    assert_eq!(run("# not this one \\\nshow errors\nshow errors \\"), "3 errors\n3 errors\n");
    assert_eq!(run("echo C:\\ b\\c"), "C:\\ b\\c\n");
}

#[test]
fn what_is_uncommented_runs() {
    assert_eq!(run("uncomment { show errors\nshow ethernet 4 }"), "3 errors\nethernet Some(4)\n");
    assert_eq!(run("uncomment show errors"), "uncomment: expected `{' and commands\n");
    let deep = "uncomment {".repeat(40) + &"}".repeat(40);
    assert_eq!(run(&deep), "uncomment: nested too deeply\n");
}

#[test]
fn output_passes_filters() {
    assert_eq!(run("show errors | count"), "1\n");
    assert_eq!(run("show errors | include nothing\nshow errors | exclude 4"), "3 errors\n");
    assert_eq!(run("show errors | grep 4\nshow errors | grep -v \"4\""), "3 errors\n");
    assert_eq!(run("help show | include errors").lines().count(), 1);
    assert_eq!(run("exec /x | count"), "exec: the output cannot be filtered\n");
    assert_eq!(
        run("show errors | inc 3"),
        "expected include, exclude, begin, count, no-more after \
        `|', got `inc'\n"
    );
    assert_eq!(run("echo a | b"), "a | b\n");
    let reply = toy().run(&mut Toy::default(), "show errors | count");
    assert_eq!(reply.output.to_json(), serde_json::json!(1));
}

#[test]
fn the_wrong_word_is_marked() {
    let marked = |text: &str| {
        let reply = toy().run(&mut Toy::default(), text);
        reply.result.unwrap_err().marked()
    };
    for (line, word) in [
        ("create thing a lable 1", "lable"),
        ("create thing x size big label y", "big"),
        ("show errors nosuch", "nosuch"),
        ("show erors", "erors"),
        ("show errors | inclued x", "inclued"),
    ] {
        let text = marked(line);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[1].trim(), line, "{text}");
        let at = lines[1].find(word).unwrap();
        assert_eq!(lines[2], " ".repeat(at) + &"^".repeat(word.len()), "{text}");
    }
    let missing = marked("create thing x size");
    assert!(missing.ends_with("\n                     ^"), "{missing}");
    assert_eq!(marked("nosuch"), "unknown input `nosuch'", "one word needs no mark");
}

#[test]
fn words_may_be_abbreviated() {
    assert_eq!(run("sh err"), "3 errors\n");
    assert_eq!(run("sh eth 4"), "ethernet Some(4)\n");
    assert_eq!(run("sh eth p"), "port\n");
    assert_eq!(run("show ethernet 4 port"), "port 4\n", "as show ethernet port 4");
    assert_eq!(run("sh eth 4 por"), "port 4\n");
    assert_eq!(run("show ethernet 4 port x"), "show ethernet: unknown input `port x'\n");
    let cli = toy();
    let echo = cli.tree().node(cli.tree_node("echo")).entry.clone().unwrap();
    let mut commands = cli.commands.borrow_mut();
    Rc::make_mut(&mut commands.tree).insert("show e", echo).unwrap();
    drop(commands);
    assert_eq!(cli.run(&mut Toy::default(), "show e x").text(), "x\n", "exact wins");
}

/// Counts until the command is removed.
#[derive(Command)]
#[command("count on", "show counting")]
struct CountOn;

struct Counting;

impl Task<Toy> for Counting {
    fn step(&mut self, toy: &mut Toy, _: &mut Output) -> Step {
        toy.steps.set(toy.steps.get() + 1);
        Step::Wait
    }
}

#[test]
fn commands_come_and_go_while_others_are_carried_out() {
    let (cli, mut toy) = (toy(), Toy::default());
    let before = cli.paths().len();
    let mut more = cli.clone();
    for _ in 0..3 {
        let owner = Owner::next();
        let entered = owner.enter();
        more.task(|_, _: CountOn| Ok(Box::new(Counting)));
        more.values("thing", |_| vec!["seven".to_owned()]);
        drop(entered);
        let (mut run, mut out) = (Run::new("count on"), Output::none());
        assert_eq!(run.step(&cli, &mut toy, &mut out), Step::Wait);
        assert_eq!(cli.complete(&toy, "show counti")[0].word, "counting");
        more.remove_all_of(owner);
        assert_eq!(cli.paths().len(), before);
        assert!(cli.complete(&toy, "show counti").is_empty());
        let Step::Done(Err(gone)) = run.step(&cli, &mut toy, &mut out) else { panic!() };
        assert_eq!(gone.to_string(), "the command was removed: its plugin is unloaded");
        let unknown = cli.run(&mut toy, "count on").text();
        assert!(unknown.contains("unknown input `count on'"), "{unknown}");
    }
    assert_eq!(toy.steps.get(), 3);
}

impl Cli<Toy> {
    fn tree_node(&self, line: &str) -> usize {
        self.tree().descend(&mut Args::new(line)).unwrap()
    }
}

#[test]
fn two_commands_cannot_have_one_path() {
    let mut cli = toy();
    cli.command(|_, _: ShowErrors| Ok(()));
    assert_eq!(cli.check(), Err(Fault::DuplicatePath("show errors")));
}

#[test]
fn several_commands_stop_at_the_first_error() {
    let text =
        "# a comment\ncomment { anything\n{ at } all }\n\necho  two  words \nsh err\nnope\nsh err";
    assert_eq!(run(text), "two  words\n3 errors\nunknown input `nope'\n");
    assert_eq!(toy().run(&mut Toy::default(), "nope").retval(), -1);
    assert_eq!(toy().run(&mut Toy::default(), "echo").text(), "\n");
}

#[test]
fn tasks_run_to_their_end() {
    let mut cx = Toy::default();
    let reply = toy().run(&mut cx, "ping repeat 3\nsh err");
    assert_eq!(reply.text(), "ping\nping\nping\nping: no reply\n");
    assert_eq!(cx.steps.get(), 4);
}

#[test]
fn output_has_a_json_form() {
    let cli = toy();
    let json = |text: &str| cli.run(&mut Toy::default(), text).output.to_json().to_string();
    assert_eq!(json("sh err"), r#"{"count":3}"#);
    assert_eq!(json("echo x"), r#""x\n""#);
    assert_eq!(json("comment x"), "null");
    assert_eq!(json("sh err\nsh err"), r#"[{"count":3},{"count":3}]"#);
}

#[test]
fn help_lists_what_may_follow() {
    let text = run("show ?");
    assert!(text.contains("  errors                         Show errors\n"), "{text}");
    assert_eq!(text, run("help sh"));
    let text = run("create thing ?");
    assert!(
        text.starts_with(
            "Create a thing\nusage: create thing <name> [size <size>] [hw-addr <address>] \
             [label <label>]... [del]\n"
        ),
        "{text}"
    );
    assert!(text.contains("  hw-addr | mac <address>        hardware address\n"), "{text}");
    assert!(text.contains("  size <size>                    its size\n"), "{text}");
    assert!(text.contains("  label <label>                  labels (0-255)\n"), "{text}");
    assert!(run("help ip route").contains("usage: ip route add <prefix> via <address>\n"));
    let text = run("create thing x size ?");
    assert!(text.ends_with("[del]\n  <size>                         its size\n"));
    assert!(
        run("create thing ab\ncreate thing size 3 ?")
            .contains("  <name>                         its name: ab\n")
    );
    assert!(run("ip route add x ?").ends_with("\n  via\n"));
    assert_eq!(run("help show nope"), "show: unknown input `nope'\n");
    assert!(run("?").contains("exec"));
}

#[test]
fn completion_offers_words_keywords_and_names() {
    let cli = toy();
    let mut cx = Toy::default();
    cli.run(&mut cx, "create thing pg0\ncreate thing pg1");
    let words = |line: &str| -> Vec<String> {
        cli.complete(&cx, line).into_iter().map(|c| c.word).collect()
    };
    assert_eq!(words("sh e"), ["errors", "ethernet"]);
    assert_eq!(words("show ethernet "), ["port"]);
    assert_eq!(words("create thing p"), ["pg0", "pg1"]);
    assert_eq!(words("create thing pg0 size 3 "), ["hw-addr", "mac", "label", "del"]);
    assert_eq!(words("create thing pg0 label 3 la"), ["label"]);
    assert_eq!(words("ip route "), ["add"]);
    assert_eq!(words("ip route add 10.0.0.0/8 "), ["via"]);
    assert_eq!(words("create thing size "), Vec::<String>::new());
    assert_eq!(words("nope "), Vec::<String>::new());
}

#[test]
fn completion_offers_paths() {
    let file = file("complete", "");
    let path = file.to_string();
    let words = |line: &str| -> Vec<String> {
        toy().complete(&Toy::default(), line).into_iter().map(|c| c.word).collect()
    };
    assert_eq!(words(&format!("exec {}", &path[..path.len() - 3])), [path]);
    assert!(words("exec /us").contains(&"/usr/".to_owned()));
    assert_eq!(words("exec /nosuch/"), Vec::<String>::new());
}

/// A file that goes away when dropped.
struct File(PathBuf);

impl Drop for File {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).unwrap();
    }
}

impl std::fmt::Display for File {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.display().fmt(f)
    }
}

fn file(name: &str, text: &str) -> File {
    let path = std::env::temp_dir().join(format!("control-{}-{name}", std::process::id()));
    std::fs::write(&path, text).unwrap();
    File(path)
}

#[test]
fn exec_says_where_it_failed() {
    let inner = file("inner", "# one\ncomment {\n\n}\nsh err\nshow bogus\nsh err\n");
    let outer = file("outer", &format!("echo start\nexec {inner}\necho end\n"));
    assert_eq!(
        run(&format!("exec {outer}")),
        format!("start\n3 errors\nexec: {outer}:2: exec: {inner}:6: show: unknown input `bogus'\n")
    );
    let own = file("own", "");
    std::fs::write(&own.0, format!("exec {own}")).unwrap();
    let text = run(&format!("exec {own}"));
    assert!(text.ends_with("exec: nested too deeply\n"), "{text}");
    let empty = file("empty", "\n");
    assert_eq!(run(&format!("exec {empty}\nsh err")), "3 errors\n");
    let quits = file("quits", "quit\nsh err");
    assert_eq!(run(&format!("exec {quits}\nsh err")), "");
}

#[test]
fn exec_takes_files_longer_than_one_read() {
    let line = "ip route add 10.1.2.0/24 via 1.2.3.4\n";
    let path = file("long", &line.repeat(100_000));
    let (cli, mut cx) = (toy(), Toy::default());
    let mut run = Run::new(&format!("exec {path}"));
    let mut slices = 0;
    while run.step(&cli, &mut cx, &mut Output::none()) == Step::Again {
        slices += 1;
    }
    assert_eq!(cx.routes, 100_000);
    assert!(slices > 1, "one slice took it all");
}

#[test]
fn exec_takes_commands_of_megabytes() {
    let line = format!("ip route add 10.1.2.0/24 via 1.2.3.4{}\n", " ".repeat(6 << 20));
    let path = file("wide", &line.repeat(2));
    let (cli, mut cx) = (toy(), Toy::default());
    let mut run = Run::new(&format!("exec {path}"));
    while run.step(&cli, &mut cx, &mut Output::none()) == Step::Again {}
    assert_eq!(cx.routes, 2);
}

#[test]
fn arguments_are_words_blocks_and_rest() {
    let mut args = Args::new(" name x {a {b} c}size 1-2 ");
    assert!(!args.keyword("nam") && args.keyword("name"));
    assert_eq!((args.position(), args.peek()), (6, Some("x")));
    assert!(args.block().unwrap().is_none());
    args.word();
    let mut block = args.block().unwrap().unwrap();
    assert_eq!(block.word(), Some("a"));
    assert_eq!(block.block().unwrap().unwrap().remaining(), "b");
    assert_eq!(block.rest(), "c");
    assert!(block.is_empty());
    assert_eq!(args.unknown().to_string(), "unknown input `size 1-2'");
    assert_eq!(args.optional::<u8>(), None);
    assert_eq!(args.word(), Some("size"));
    assert_eq!(Args::new("{ a").block().unwrap_err().to_string(), "missing `}' in `{ a'");
}

proptest! {
    #[test]
    fn no_line_panics(line in "(show|create thing|set interface state|ip route|help|exec|[ \
        -~]{0,9})( [a-z0-9{}?]{0,6}){0,5}[{}]?|\\PC{0,60}") {
        let cli = toy();
        let mut cx = Toy::default();
        let reply = cli.run(&mut cx, &line);
        prop_assert!(!reply.text().contains("internal error") || line.starts_with("t"));
        cli.complete(&cx, &line);
    }
}

/// Common fields of two commands.
#[derive(Arguments, Debug, PartialEq)]
struct Shared {
    /// target
    to: Pair<u8, Below<10>>,
    /// number of times
    #[default(3)]
    times: u32,
}

#[derive(Words, Clone, Copy, Debug, PartialEq)]
enum Shape {
    RoundRobin,
    #[word("hash")]
    Flow,
}

#[derive(Words, Debug, PartialEq)]
enum Then {
    Stop,
    Go(u32),
}

/// Send.
#[derive(Command, Print, Debug, PartialEq)]
#[command("send")]
struct Send {
    #[flatten]
    shared: Shared,
    /// how
    #[positional]
    #[words]
    #[default(Shape::RoundRobin)]
    shape: Shape,
    /// and then
    #[words]
    then: Option<Then>,
}

fn sent(line: &str) -> Result<Send, Error> {
    Send::parse(&mut Args::new(line))
}

#[test]
fn arguments_that_are_shared_are_read_with_the_own_ones() {
    let all = Send {
        shared: Shared { to: Pair(1, Below(9)), times: 4 },
        shape: Shape::Flow,
        then: Some(Then::Go(7)),
    };
    assert_eq!(sent("then go 7 times 4 hash to 1 9").unwrap(), all);
    assert_eq!(Line::of(&all, &()), "send to 1 9 times 4 hash then go 7");
    let few = sent("to 1 2 then stop").unwrap();
    assert_eq!((few.shared.times, few.shape, &few.then), (3, Shape::RoundRobin, &Some(Then::Stop)));
    assert_eq!(Line::of(&few, &()), "send to 1 2 then stop");
    assert_eq!(
        Send::ARGS.iter().map(|a| a.name).collect::<Vec<_>>(),
        ["to", "times", "shape", "then"]
    );
    assert_eq!((Send::ARGS[2].values, Send::ARGS[3].values), ("round-robin|hash", "stop|go"));
    for (line, why) in [
        ("times 4", "missing to"),
        ("to 1 10", "expected below 10 `10'"),
        ("to 1 1 zigzag", "unknown input `zigzag'"),
        ("to 1 1 then jump", "invalid then `jump'"),
    ] {
        assert_eq!(sent(line).unwrap_err().to_string(), why, "{line}");
    }
}

/// Keep a key.
#[derive(Command, Print, Debug, PartialEq)]
#[command("toy key")]
struct ToyKey {
    /// number
    #[positional]
    number: u32,
    /// the key
    shared_key: Secret<crate::cli::Hex>,
    /// other
    other: Option<u8>,
}

#[test]
fn a_secret_is_neither_noted_nor_repeated() {
    let mut cli = Cli::<()>::new();
    let events = EventLog::default();
    events.register(&mut cli);
    cli.command(|_, key: ToyKey| match key.shared_key.0.0.len() {
        1 => Ok(()),
        len => {
            Err(Error::new(format!("{len} bytes, not `{}'", crate::cli::hex(&key.shared_key.0.0))))
        }
    });
    let run = |line: &str| cli.run(&mut (), line).text();
    run("event-logger trace cli");
    assert_eq!(run("toy key 1 shared-key ab"), "");
    assert_eq!(
        run("toy key 1 nonsense shared-key ab12 other 3"),
        "toy key: unknown input `nonsense shared-key <hidden> other 3'\n"
    );
    assert_eq!(run("toy key 1 shared-key ab12"), "toy key: 2 bytes, not `<hidden>'\n");
    assert_eq!(run("toy k 1 shared-kye ab12"), "toy key: unknown input `shared-kye <hidden>'\n");
    assert!(run("toyy key 1 shared-key ab12").contains("shared-key <hidden>"));
    assert!(run("toy kez 1 shared-key ab12").contains("shared-key <hidden>"));
    let (long, word) = ("x ".repeat(2_000_000), "cd34".repeat(1_000_000));
    assert!(!run(&format!("toy key 1 {long} shared-key ab12")).contains("ab12"));
    assert_eq!(run(&format!("toy key 1 {word} shared-key ab12")).len(), 32);
    let start = processor_time();
    assert!(run(&format!("nothing {word}")).len() > word.len());
    assert!(run(&format!("{word} nothing")).len() > word.len());
    assert!(run(&format!("toy {word}")).len() > word.len());
    let took = processor_time() - start;
    assert!(took < Duration::from_secs(10), "a long word is like none: {took:?}");
    assert_eq!(run("toy key shared-key"), "toy key: missing shared-key\n");
    let noted: Vec<_> = events.newest(100).into_iter().map(|event| event.text).collect();
    assert!(noted.contains(&"toy key 1 shared-key <hidden>".to_owned()), "{noted:?}");
    assert!(noted.iter().all(|text| !text.contains("ab")), "{noted:?}");
    assert_eq!(
        cli.shown("toy key 1 shared-key ab\nshow events"),
        "toy key 1 shared-key <hidden>\nshow events"
    );
    let key = ToyKey { number: 1, shared_key: Secret(crate::cli::Hex(vec![0xab])), other: None };
    assert_eq!(Line::of(&key, &()), "toy key 1 shared-key ab", "it is saved");
    assert_eq!(format!("{key:?}"), "ToyKey { number: 1, shared_key: <hidden>, other: None }");
}

/// Processor time of this thread: on a machine with other things to do, a turn takes longer.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[test]
fn lines_without_commands_take_turns() {
    let cli = toy();
    let mut run = Run::new(&("\n#\n".repeat(500_000) + "show steps"));
    let (mut cx, mut out, mut turns) = (Toy::default(), Output::none(), 0);
    loop {
        let start = processor_time();
        let step = run.step(&cli, &mut cx, &mut out);
        assert!(processor_time() - start < Duration::from_millis(500), "a turn is short");
        turns += 1;
        if let Step::Done(_) = step {
            break;
        }
        assert_eq!(step, Step::Again);
    }
    assert!(turns > 3, "{turns} turns");
}
