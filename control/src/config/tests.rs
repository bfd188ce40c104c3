use proptest::prelude::*;

use super::*;

fn parse(text: &str) -> Config {
    Config::parse_file(text, &[]).unwrap()
}

fn error(text: &str) -> String {
    Config::parse_file(text, &[]).unwrap_err().to_string()
}

#[test]
fn a_supervisors_line_is_accepted() {
    let line = "unix { nodaemon nosyslog full-coredump coredump-size unlimited runtime-dir /t \
        cli-listen /t/cli.sock } api-trace { on } api-segment { prefix P } cpu { main-core 3 \
        corelist-workers 1,4-5 } memory { main-heap-size 1G } physmem { max-size 32m } statseg { \
        socket-name /t/stats.sock size 64M per-node-counters on update-interval 1 } socksvr { \
        socket-name /t/api.sock } node { default { variant icl 100 } } api-fuzz { off } buffers \
        { buffers-per-numa 16384 default data-size 2048 page-size 4k layout packed } plugins { path /p plugin \
        dpdk_plugin.so { disable } plugin acl_plugin.so {enable} } session { enable \
        use-app-socket-api use-bapi-socket-api }";

    let config = Config::parse(line, &[]).unwrap();

    assert!(config.unix.nodaemon && config.unix.nosyslog && config.unix.full_coredump);
    assert_eq!(config.unix.coredump_size, Some(Size(u64::MAX)));
    assert_eq!(config.unix.cli_listen(), Listen::Unix("/t/cli.sock".into()));
    assert!(config.api_trace.on);
    assert_eq!(config.api_segment.prefix.as_deref(), Some("P"));
    assert_eq!(config.cpu.main_core, Some(3));
    assert_eq!(config.cpu.corelist_workers, Some(CpuList(vec![1, 4, 5])));
    assert_eq!(config.memory.main_heap_size, Some(Size(1 << 30)));
    assert_eq!(config.memory.physmem_max_size, Some(Size(32 << 20)));
    assert!(config.statseg.per_node_counters);
    assert_eq!(config.statseg.update_interval, Some(1.0));
    assert_eq!(config.socksvr.socket_name.as_deref(), Some("/t/api.sock".as_ref()));
    let variant = Variant { name: "icl".into(), priority: Some(100) };
    assert_eq!(config.node.default, Some(variant));
    assert_eq!(config.buffers.per_numa, Some(16384));
    assert_eq!(config.buffers.data_size, Some(2048));
    assert_eq!(config.buffers.page_size, PageSize::Bytes(4096));
    assert_eq!(config.buffers.layout, Layout::Packed);
    assert_eq!(parse("buffers { layout natural }").buffers.layout, Layout::Natural);
    assert_eq!(config.plugins.switch("dpdk"), Some(Switch::Disable));
    assert_eq!(config.plugins.switch("acl"), Some(Switch::Enable));
    assert_eq!(config.plugins.switch("nat"), None);
    let none = Config::parse("plugins { plugin default { disable } }", &[]).unwrap();
    assert_eq!(none.plugins.switch("nat"), Some(Switch::Disable));
    assert_eq!(config.stanzas("session").next().unwrap().body.trim(), "enable use-app-socket-api");
    let sockets = "line 1: `use-bapi-socket-api' in stanza `session' has no effect: \
                   programs attach through app sockets";
    assert!(config.notices.iter().any(|n| n.to_string() == sockets), "{:?}", config.notices);
}

#[test]
fn words_need_no_blanks_in_between() {
    let config = parse("statseg { per-node-counters onupdate-interval 0.05 }").statseg;
    assert_eq!((config.per_node_counters, config.update_interval), (true, Some(0.05)));
    let config = parse("statseg{per-node-counters offupdate-interval0.5size 1M socket-name/s}");
    assert!(!config.statseg.per_node_counters);
    assert_eq!(config.statseg.update_interval, Some(0.5));
    assert_eq!(config.statseg.size, Some(Size(1 << 20)));
    assert_eq!(config.statseg.socket_name.as_deref(), Some("/s".as_ref()));
    let config = parse("unix { nodaemonexec /a log /b } cpu { main-core1workers 2 }");
    assert!(config.unix.nodaemon && config.unix.exec.len() == 1);
    assert_eq!((config.cpu.main_core, config.cpu.workers), (Some(1), Some(2)));
    // What is wrong either way is named as it was written.
    for (text, what) in [
        (
            "statseg { per-node-counters onupdate 1 }",
            "expected on or off after per-node-counters, got `onupdate 1'",
        ),
        ("statseg { update-interval0.05x }", "unknown word 'update-interval0.05x'"),
        ("cpu { workers2 corez }", "unknown word 'workers2'"),
    ] {
        let name = text.split(' ').next().unwrap();
        let error = error(text);
        assert!(error.starts_with(&format!("{what} in stanza '{name}' (line 1)")), "{error}");
    }
}

#[test]
fn unknown_words_are_refused_by_name() {
    assert_eq!(error("bogus { x }"), "unknown stanza 'bogus' (line 1)");
    for (text, why) in [
        (
            "\nunix {\n\n nodaemon\n nodemon }",
            "'nodemon' in stanza 'unix' (line 5): did you mean `nodaemon'?",
        ),
        ("http { lisen 8080 }", "'lisen' in stanza 'http' (line 1): did you mean `listen'?"),
        (
            "http { listen 1.2.3.4:1\n token-fle x }",
            "'token-fle' in stanza 'http' (line 2): did you mean `token-file'?",
        ),
        (
            "ip { rute-counters on }",
            "'rute-counters' in stanza 'ip' (line 1): did you mean `route-counters'?",
        ),
        ("punt { sokcet /x }", "'sokcet' in stanza 'punt' (line 1): did you mean `socket'?"),
        (
            "linux-nl {\nrx-buffer-size 1 }",
            "'rx-buffer-size' in stanza 'linux-nl' (line 2): did you mean `nl-rx-buffer-size'?",
        ),
        (
            "dpdk { dev default\n {\n workrs 1 } }",
            "'workrs' in stanza 'dpdk' (line 3): did you mean `workers'?",
        ),
        ("session { zzbogus-word 1 }", "'zzbogus-word' in stanza 'session' (line 1)"),
        ("logging { class x {\n levle debug } }", "'levle' in stanza 'logging' (line 2)"),
        ("lcpng { }", "unknown stanza 'lcpng' (line 1): did you mean `linux-cp'?"),
        ("\nunxi { }", "unknown stanza 'unxi' (line 2): did you mean `unix'?"),
        (
            "ip { route-counters maybe }",
            "expected on or off or auto in `route-counters on|off|auto', got `maybe' in stanza 'ip' (line 1)",
        ),
        (
            "sfdp { tenants-log2 x }",
            "expected <n> in `tenants-log2 <n>', got `x' in stanza 'sfdp' (line 1)",
        ),
        (
            "tcp { mtu }",
            "expected <n> in `mtu <n>', got at the end of the line in stanza 'tcp' (line 1)",
        ),
    ] {
        assert!(error(text).ends_with(why), "{text}: {}", error(text));
    }
    assert_eq!(error("\ncpu { cores 2 }"), "unknown word 'cores' in stanza 'cpu' (line 2)");
    assert_eq!(error("cpu { main-core x }"), "invalid main-core `x' in stanza 'cpu' (line 1)");
    assert_eq!(error("cpu { workers"), "missing `}' in `{ workers' (line 1)");
    assert_eq!(error("cpu { } }"), "unexpected '}' (line 1)");
    assert_eq!(
        error("plugins { plugin x { maybe } }"),
        "unknown word 'maybe' in stanza 'plugins' (line 1)"
    );
}

#[test]
fn names_of_plugins_that_nobody_has_are_found() {
    let config = parse(
        "plugins { plugin default { disable } plugin a_plugin.so { enable } plugin nat44-ei.so \
         { disable } plugin dpdk_plugin.so { disable } plugin b { skip-version-check } \
         plugin dpdk_plugin.so { enable } }",
    );
    let known = ["a", "nat44_ei"].map(str::to_owned);
    assert_eq!(config.plugins.unknown(&known), ["b", "dpdk_plugin.so"]);
    assert_eq!(
        config.plugins.unknown(&["b", "dpdk"].map(str::to_owned)),
        ["a_plugin.so", "nat44-ei.so"]
    );
}

#[test]
fn stanzas_of_others_keep_their_contents() {
    let config = parse("dpdk { dev 0000:00:01.0 { num-rx-queues 2 } # two\n no-multi-seg }");
    let dpdk = config.stanzas("dpdk").next().unwrap();
    assert_eq!(dpdk.value::<String>("dev").unwrap().as_deref(), Some("0000:00:01.0"));
    assert_eq!(dpdk.value::<u32>("num-rx-queues").unwrap(), None);
    assert!(!dpdk.has("no-multi-seg").unwrap(), "features find their own words only");
    let notices: Vec<_> = config.notices.iter().map(|n| (n.line, n.words.as_str())).collect();
    assert_eq!(notices, [(2, "no-multi-seg")]);
    assert!(Config::parse("my-feature { a b }", &["my-feature"]).is_ok());
}

#[test]
fn a_stanza_may_come_twice() {
    let config = parse("unix { nodaemon }\nunix { exec /a exec /b cli-prompt r1# x\n }");
    assert!(config.unix.nodaemon);
    assert_eq!(config.unix.exec.len(), 2);
    assert_eq!(config.unix.cli_prompt.as_deref(), Some("r1"), "the rest is a comment");
}

#[test]
fn values_are_read() {
    assert_eq!("8G".parse(), Ok(Size(8 << 30)));
    assert_eq!("4k".parse(), Ok(Size(4096)));
    assert_eq!("4x".parse::<Size>(), Err(()));
    assert_eq!("99999999999T".parse::<Size>(), Err(()));
    assert_eq!("default".parse(), Ok(PageSize::Default));
    assert_eq!("3k".parse::<PageSize>(), Err(()));
    assert_eq!("1,3-5".parse(), Ok(CpuList(vec![1, 3, 4, 5])));
    for list in ["2-3, 4-5", "2-3 ,4-5", "2-3 , 4-5", "2,3,\n4-5"] {
        let cpu = parse(&format!("cpu {{ corelist-workers {list} main-core 1 }}")).cpu;
        assert_eq!(
            (cpu.corelist_workers, cpu.main_core),
            (Some(CpuList(vec![2, 3, 4, 5])), Some(1))
        );
    }
    assert_eq!("5-3".parse::<CpuList>(), Err(()));
    assert_eq!("1,1".parse::<CpuList>(), Err(()));
    assert_eq!("localhost:5002".parse(), Ok(Listen::Tcp("localhost:5002".into())));
    assert_eq!("./cli.sock".parse(), Ok(Listen::Unix("./cli.sock".into())));
    assert_eq!(parse("cpu { main-core 2 main-core auto }").cpu.main_core, None);
    let cpu = parse("cpu { coremask-workers 0x1e }").cpu;
    assert_eq!(cpu.corelist_workers, Some(CpuList(vec![1, 2, 3, 4])));
}

#[test]
fn argv_is_options_and_words() {
    let argv = |words: &[&str]| Invocation::parse(words.iter().map(|w| (*w).to_owned()));
    assert_eq!(argv(&["-v"]), Ok(Invocation::Version));
    let Invocation::Run(options) = argv(&["unix { nodaemon", "log /x }", "-i"]).unwrap() else {
        panic!("must run");
    };
    let config = options.load(&[]).unwrap();
    assert!(config.unix.nodaemon && config.unix.interactive);
    assert_eq!(config.unix.log.as_deref(), Some("/x".as_ref()));
    let missing = Options { config: Some("/nonexistent".into()), ..Options::default() };
    assert_eq!(
        missing.load(&[]).unwrap_err().to_string(),
        "open `/nonexistent': No such file or directory"
    );
    assert!(argv(&["-c"]).is_err());
}

/// Text of all notices of a configuration.
fn noted(text: &str) -> Vec<String> {
    parse(text).notices.iter().map(Notice::to_string).collect()
}

#[test]
fn what_has_no_effect_is_noted_with_its_line() {
    assert_eq!(
        noted("unix { nodaemon } cpu { main-core 1 } punt { socket /x } ipsec { }"),
        [""; 0]
    );
    for (text, first) in [
        (
            "acl-plugin {\n use tuple merge\n 0 }",
            "line 2: `use tuple merge 0' in stanza `acl-plugin' has no effect: tables grow as needed",
        ),
        (
            "nat { endpoint-dependent max translations per user 10000 }",
            "line 1: stanza `nat' has no effect: `nat44 plugin enable' has its settings",
        ),
        ("cj { } fib { }", "line 1: stanza `cj' has no effect: commands have its settings"),
        ("heapsize 2G", "line 1: stanza `heapsize' has no effect: memory is allocated as needed"),
        (
            "dpdk { dev 0000:02:00.0 {\nworkers 0-1, 3 name x } }",
            "line 2: `workers 0-1, 3' in stanza `dpdk' has no effect: `set interface rx-placement' \
             chooses threads",
        ),
        (
            "unix {\nfull-coredump }",
            "line 2: `full-coredump' in stanza `unix' has no effect: there are no core files",
        ),
    ] {
        assert_eq!(noted(text)[0], first);
    }
    let dpdk = parse("dpdk { dev 0000:02:00.0 { workers 0 name x tso on } no-multi-seg }");
    let words: Vec<_> = dpdk.others[0].body.split_whitespace().collect();
    assert_eq!(words, ["dev", "0000:02:00.0", "{", "name", "x", "}"]);
}

#[test]
fn words_may_be_commands() {
    let config = parse(
        "ip { route-counters on default-table-name red } l2learn { limit 7 } vlib { elog-events 9 }",
    );
    let commands = [
        "ip table add 0 name red",
        "set bridge-domain default-learn-limit 7",
        "event-logger resize 9",
    ];
    assert_eq!(config.commands, commands);
    assert_eq!(config.others[0].body.trim(), "route-counters on");
    assert!(config.notices.is_empty());
    assert!(Config::parse("l2learn { limit many }", &[]).is_err());
}

proptest! {
    #[test]
    fn no_text_panics(text in "[a-z{}#\\n0-9 -]{0,80}|(unix|cpu|plugins|node) ?\\{.{0,60}") {
        let _ = Config::parse_file(&text, &[]);
    }
}
