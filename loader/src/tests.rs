//! Plugins in files are built, loaded, driven with packets, and unloaded.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use control::api::{Message, Retval};
use control::feature::Owner;
use ferrovia_sdk::abi;
use net::InterfaceIndex;
use net::testing::Bench;
use net::testing::packets::{udp4, udp6};

use super::*;

/// Runs one test at a time: they inspect the memory of the process.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The folder of the whole source.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// A file of its own for what a test builds.
fn target(name: &str) -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Relaxed);
    let folder = std::env::temp_dir().join(format!("loader-{}-{number}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder.join(name)
}

/// Compiles a plugin in C.
fn compiled(source: &Path, name: &str) -> PathBuf {
    let file = target(name);
    let include = root().join("sdk/include");
    let mut cc = Command::new("cc");
    cc.args(["-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-I"]).arg(include);
    let done = cc.arg("-o").arg(&file).arg(source).status().unwrap();
    assert!(done.success());
    file
}

/// Compiles a plugin in C whose start is `start`.
fn written(start: &str) -> PathBuf {
    let source = target("plugin.c");
    std::fs::write(&source, format!("#include <ferrovia.h>\n{start}\n")).unwrap();
    compiled(&source, "plugin.so")
}

/// Builds the sample in Rust, or what else is in a folder.
fn built(folder: &Path) -> PathBuf {
    let target = target("");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--offline", "--target-dir"]).arg(&target);
    assert!(cargo.current_dir(folder).status().unwrap().success());
    target.join("debug/libnth_drop.so")
}

fn sample() -> PathBuf {
    compiled(&root().join("examples/nth_drop_c/nth_drop.c"), "nth_drop.so")
}

fn bench() -> Bench {
    let mut bench = Bench::plugged(FEATURE);
    let there = [net::ip4::FEATURE, net::ip6::FEATURE].map(|feature| (Owner::CORE, feature));
    bench.control(|router| router.features.extend(there));
    bench
}

/// Drop every Nth packet.
#[derive(Message)]
struct NthDropSet {
    sw_if_index: InterfaceIndex,
    every: u32,
}

/// List interfaces that drop.
#[derive(Message)]
#[details(NthDropDetails)]
struct NthDropDump {}

/// One that does.
#[derive(Message, Debug, PartialEq)]
struct NthDropDetails {
    sw_if_index: InterfaceIndex,
    every: u32,
    dropped: u64,
}

/// Behaviour of the sample when it is asked through the binary API.
fn ask(bench: &mut Bench) {
    let (pg0, pg1) = (bench.pg0, bench.pg1);
    bench.talk(|local, router| {
        let mut set = |sw_if_index, every| local.call(router, &NthDropSet { sw_if_index, every });
        assert_eq!(set(pg1, 3), Ok(()));
        assert_eq!(set(pg1, 1), Err(Retval::INVALID_VALUE));
        assert_eq!(set(InterfaceIndex(99), 3), Err(Retval::INVALID_SW_IF_INDEX));
        let row = |sw_if_index, every, dropped| NthDropDetails { sw_if_index, every, dropped };
        assert_eq!(local.dump(router, &NthDropDump {}), [row(pg0, 4, 4), row(pg1, 3, 0)]);
    });
    bench.control(|router| router.remove_interface(pg1));
    let shown = bench.run("show interface nth-drop").unwrap();
    assert_eq!(shown, "pg0: every 4, 4 dropped\n", "what is set goes with its interface");
}

fn load(bench: &mut Bench, file: &Path) -> Result<String, String> {
    bench.run(&format!("plugin load {}", file.display()))
}

/// State that a load of a plugin changes, and an unload must change back.
fn state(bench: &mut Bench) -> Vec<String> {
    let mut all = bench.cli.paths();
    all.extend(bench.api.messages().map(|(id, info, crc)| format!("{id} {} {crc}", info.name)));
    bench.control(|router| {
        all.extend(router.engine.node_names().map(|(_, name)| name.to_owned()));
        all.extend(router.engine.arcs().map(|arc| format!("{arc:?}")));
        all.extend(
            router.engine.counters().map(|(_, node, text, _)| format!("{node} {}", text.name)),
        );
        all.extend(router.stats.iter().map(|(name, _)| name.to_owned()));
    });
    all.sort();
    all
}

/// Number of eight packets of each version that do not come through.
fn dropped(bench: &mut Bench) -> [usize; 2] {
    let packets = |packet: Vec<u8>| vec![packet; 8];
    let four = packets(udp4("10.0.0.2", "10.0.1.2", 9, b"four"));
    let six = packets(udp6("2001:db8::2", "2001:db8:1::2", 9, b"six"));
    [("ip4", four), ("ip6", six)].map(|(version, packets)| {
        let out = bench.send(&format!("{version}-input"), &packets);
        8 - out.iter().filter(|caught| caught.at == format!("{version}-lookup")).count()
    })
}

/// Memory of this process in kB.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse().unwrap()
}

/// Loads a sample, has it drop, and unloads it.
fn drive(file: &Path) {
    let mut bench = bench();
    let before = state(&mut bench);
    for round in 0..3 {
        assert_eq!(load(&mut bench, file).as_deref(), Ok(""));
        assert_eq!(dropped(&mut bench), [0, 0]);
        bench.set("set interface nth-drop pg0 4");
        assert_eq!(dropped(&mut bench), [2, 2]);
        assert_eq!(bench.run("show interface nth-drop").unwrap(), "pg0: every 4, 4 dropped\n");
        let given = bench.run("show configuration loader").unwrap();
        let lines = format!("plugin load {}\nset interface nth-drop pg0 4\n", file.display());
        assert_eq!(given, lines);
        let json = bench.connected(|rig| rig.cli.run(&mut rig.router, "show interface nth-drop"));
        let row = r#"[{"dropped":4,"every":4,"interface":"pg0"}]"#;
        assert_eq!(json.output.to_json().to_string(), row);
        let counted = bench.control(|router| {
            let moved = router.engine.errors();
            moved.iter().map(|(_, node, text, n)| format!("{node} {} {n}", text.name)).collect()
        });
        let counted: Vec<String> = counted;
        assert!(counted.contains(&"nth-drop-ip4 dropped 2".to_owned()), "{counted:?}");
        for (line, why) in [
            ("set interface nth-drop pg9 4", "unknown interface `pg9'"),
            ("set interface nth-drop pg0 1", "every must be 0 or at least 2"),
            ("set interface nth-drop pg0 x", "invalid every `x'"),
        ] {
            let said = bench.run(line).unwrap_err();
            assert!(said.contains(why), "{said}");
        }
        assert_eq!(bench.run("show features").unwrap().matches("nth-drop").count(), 2);
        if round == 2 {
            break;
        }
        assert_eq!(bench.run("plugin unload nth_drop").as_deref(), Ok(""));
        assert_eq!(dropped(&mut bench), [0, 0]);
        assert_eq!(state(&mut bench), before);
    }
    ask(&mut bench);
    assert_eq!(bench.graph.buffers_used(), 0);
    let (mut spent, mut file) = (Vec::new(), file.display().to_string());
    file.insert_str(0, "plugin unload nth_drop\nplugin load ");
    for round in 0..100 {
        assert_eq!(bench.run(&file).as_deref(), Ok(""));
        bench.set("set interface nth-drop pg0 4");
        let [four, _] = dropped(&mut bench);
        assert_eq!(four, 2);
        if round % 20 == 19 {
            spent.push(resident());
        }
    }
    assert!(spent[4] <= spent[1] + 256, "kB: {spent:?}");
}

#[test]
fn a_plugin_in_c_drops_every_nth_packet() {
    let _alone = alone();
    drive(&sample());
}

#[test]
fn a_plugin_in_rust_does_the_same() {
    let _alone = alone();
    drive(&built(&root().join("examples/nth_drop_rust")));
}

#[test]
fn what_is_no_plugin_of_this_router_is_refused_before_it_runs() {
    let _alone = alone();
    const RUNS: &str = "__attribute__((constructor)) static void run(void) { __builtin_trap(); }\n\
        int fv_start(fv_cx *cx) { (void)cx; return 0; }\n";
    let mut bench = bench();
    let before = state(&mut bench);
    let stamp = |text: &str| format!("{text}\n{RUNS}");
    let plain = r#"FERROVIA_PLUGIN("odd", "1", "")"#;
    let newer = "struct wide { fv_stamp stamp; };\n#undef FV_ABI\n#define FV_ABI 9\n";
    let missing = "int nowhere(void);\nint use(void) { return nowhere(); }\n";
    for (source, why) in [
        (RUNS.to_owned(), "not a plugin: no ELF note"),
        (
            stamp(&format!("{newer}{plain}")),
            "it is for version 9 of the interface, the router has 1",
        ),
        (
            stamp(r#"FERROVIA_PLUGIN_FOR("odd", "1", "", "0.0.7", "")"#),
            "odd is for version 0.0.7, this is ",
        ),
        (
            stamp(r#"FERROVIA_PLUGIN_FOR("odd", "1", "", "", "ip4 mpls")"#),
            "odd requires mpls, which is not loaded",
        ),
        (stamp(r#"FERROVIA_PLUGIN("o d", "1", "")"#), "`o d' is not a plugin name"),
        (stamp(r#"FERROVIA_PLUGIN("ip4", "1", "")"#), "ip4 is built in"),
        (stamp(&format!("{missing}{plain}")), "undefined symbol: nowhere"),
    ] {
        let said = load(&mut bench, &written(&source)).unwrap_err();
        assert!(said.contains(why), "{said} for {why}");
    }
    let text = target("text.so");
    std::fs::write(&text, "text").unwrap();
    assert!(load(&mut bench, &text).unwrap_err().contains("not a shared object"));
    let mut cut = std::fs::read(sample()).unwrap();
    for len in [20, 64, 1000, cut.len() - 100] {
        cut.truncate(cut.len().min(len));
        std::fs::write(&text, &cut).unwrap();
        load(&mut bench, &text).unwrap_err();
    }
    assert!(load(&mut bench, Path::new("/nowhere.so")).unwrap_err().contains("/nowhere.so: "));
    assert!(bench.run("plugin unload odd").unwrap_err().contains("odd is not loaded"));
    assert!(bench.run("plugin unload ip4").unwrap_err().contains("ip4 is part of the router"));
    assert_eq!(state(&mut bench), before);
}

#[test]
fn a_plugin_that_fails_in_its_start_leaves_nothing() {
    let _alone = alone();
    let mut bench = bench();
    let before = state(&mut bench);
    let plugin = |rest: &str| {
        written(&format!(
            "FERROVIA_PLUGIN(\"odd\", \"1\", \"\")\n\
             static void process(void *s, fv_frame *f) {{ (void)s; (void)f; }}\n\
             static int run(fv_cx *cx, void *s, uint32_t n, const char *const *w) {{\n\
             (void)s; (void)n; (void)w; return fv_fail(cx, \"no\"); }}\n\
             int fv_start(fv_cx *cx) {{\n\
             fv_counters counters;\n\
             fv_node node = {{.name = \"odd-node\", .process = process}};\n\
             fv_command command = {{.path = \"show odd\", .run = run}};\n\
             fv_feature feature = {{.arc = \"ip4-unicast\", .node = \"odd-node\",\n\
             .after = \"nowhere\"}};\n\
             (void)feature;\n\
             if (fv_router->node(cx, &node) || fv_router->command(cx, &command) ||\n\
             fv_router->counters(cx, \"/odd\", &counters)) return -1;\n\
             {rest}\n}}\n"
        ))
    };
    for (rest, why) in [
        ("return fv_fail(cx, \"not today, %d\", 7);", "odd: not today, 7"),
        ("return -1;", "odd: its start failed"),
        ("return fv_router->node(cx, &node);", "odd: duplicate node name odd-node"),
        ("return fv_router->feature(cx, &feature);", "is not placed on arc ip4-unicast"),
        ("return fv_router->command(cx, &command);", "duplicate command `show odd'"),
        (
            "command.path = \"show errors\"; return fv_router->command(cx, &command);",
            "duplicate command `show errors'",
        ),
        (
            "feature.after = 0; feature.before = \"ip4-lookup\"; feature.node = \"not-there\";\n\
             return fv_router->feature(cx, &feature);",
            "no node not-there",
        ),
        ("feature.arc = \"none\"; return fv_router->feature(cx, &feature);", "no feature arc none"),
        (
            "fv_message m = {.module = \"odd\", .name = \"odd_get\", .fields = \"u33 x;\"};\n\
             (void)m; return fv_router->message(cx, &m);",
            "odd_get has no function",
        ),
    ] {
        let said = load(&mut bench, &plugin(rest)).unwrap_err();
        assert!(said.contains(why), "{said} for {why}");
        assert_eq!(state(&mut bench), before);
    }
    // The same file works when it succeeds.
    let good = plugin("return 0;");
    assert_eq!(load(&mut bench, &good).as_deref(), Ok(""));
    assert!(bench.run("show odd").unwrap_err().contains("no"));
    assert!(load(&mut bench, &good).unwrap_err().contains("a plugin odd is already loaded"));
    assert_eq!(bench.run("plugin unload odd").as_deref(), Ok(""));
    assert_eq!(state(&mut bench), before);
}

/// Offsets of the fields of a struct, and its size, in C and in Rust.
macro_rules! layout {
    ($rust:ident $c:literal: $($field:ident $of:literal)*) => {
        (
            $c,
            vec![$(($of, std::mem::offset_of!(abi::$rust, $field)),)*],
            size_of::<abi::$rust>(),
        )
    };
}

#[test]
fn the_header_and_rust_agree_and_buffers_are_the_engines() {
    let _alone = alone();
    let structs = [
        layout!(Buffer "fv_buffer": offset "offset" len "len" flags "flags" rest "rest" rx "rx"
            tx "tx" next "next" error "error" l2 "l2" l3 "l3" l4 "l4" gso_size "gso_size"
            flow_hash "flow_hash" fib "fib" trace "trace" adjacency "adjacency"
            payload "payload"),
        layout!(Frame "fv_frame": count "count" thread "thread" now "now" pool "pool"
            indices "indices" verdicts "verdicts" local "local" engine "engine"),
        layout!(Node "fv_node": name "name" process "process" state "state"
            local_size "local_size" next "next" reasons "reasons" counts "counts" drop "drop"),
        layout!(Feature "fv_feature": arc "arc" node "node" before "before" after "after"),
        layout!(Command "fv_command": path "path" usage "usage" about "about" run "run"
            state "state"),
        layout!(Message "fv_message": module "module" version "version" name "name"
            about "about" fields "fields" answer "answer" run "run" state "state"),
        layout!(Counters "fv_counters": rows "rows" threads "threads"),
        layout!(Metadata "fv_metadata": flag "flag" offset "offset"),
        layout!(Interface "fv_interface": name "name" hardware "hardware" mac "mac" mtu "mtu"
            transmit "transmit" state "state" local_size "local_size" reasons "reasons"),
        layout!(Stamp "fv_stamp": name_size "name_size" owner "owner" abi "abi" table "table"
            name "name" version "version" router "router" about "about" needs "needs"),
        layout!(Host "fv_host": abi "abi" size "size" threads "threads"
            most_interfaces "most_interfaces" count "count" trace "trace" node "node"
            feature "feature" command "command" message "message" counters "counters"
            on_interface "on_interface" set_feature "set_feature"
            interface_named "interface_named" interface_name "interface_name"
            next_interface "next_interface" after "after" cancel "cancel" now "now"
            inject "inject" log "log" print "print" json "json" fail "fail" answer "answer"
            configure "configure" line "line" metadata "metadata" interface "interface"
            delete_interface "delete_interface" set_link "set_link" alloc "alloc" free "free"
            send "send"),
    ];
    let mut source = String::from("#include <ferrovia.h>\n#include <stddef.h>\n");
    for (name, fields, size) in &structs {
        source += &format!("_Static_assert(sizeof({name}) == {size}, \"{name}\");\n");
        for (field, offset) in fields {
            let at = format!("offsetof({name}, {field}) == {offset}");
            source += &format!("_Static_assert({at}, \"{name} {field}\");\n");
        }
    }
    let stamp = "FERROVIA_PLUGIN(\"same\", \"1\", \"\")";
    written(&format!("{source}{stamp}\nint fv_start(fv_cx *cx) {{ (void)cx; return 0; }}"));
    assert_eq!(graph::FIELDS, structs[0].1);
    assert_eq!((graph::HEADROOM + 128, size_of::<abi::Buffer>()), (abi::DATA, 64));
}

#[test]
fn a_plugin_in_rust_that_panics_costs_a_start_a_command_or_a_frame() {
    let _alone = alone();
    let folder = target("panics");
    std::fs::create_dir_all(folder.join("src")).unwrap();
    let sdk = root().join("sdk").canonicalize().unwrap();
    let manifest = format!(
        "[package]\nname = \"nth_drop\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\
         [lib]\ncrate-type = [\"cdylib\"]\n[workspace]\n\
         [dependencies]\nferrovia-sdk = {{ path = \"{}\" }}\n",
        sdk.display()
    );
    std::fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    let build = |start: &str| {
        let source = format!(
            "use ferrovia_sdk::prelude::*;\n\
             ferrovia_sdk::plugin! {{ name: \"odd\", version: \"1\", about: \"\",\n\
             requires: \"ip4\", start: start }}\n\
             struct Fails;\n\
             impl Node for Fails {{\n\
             type Local = ();\n\
             fn process(&self, _: &mut (), frame: &mut Frame<'_>) {{\n\
             frame.each(|p| if p.bytes()[20] == 7 {{ panic!(\"seven\") }} else {{\n\
             Verdict::Continue }});\n}}\n}}\n\
             fn start(router: &mut Router<'_>) -> Result<(), Error> {{\n\
             router.node(\"odd\", Fails, &[Place::before(\"ip4-unicast\", \"ip4-lookup\")])?;\n\
             let show = Command {{ path: \"show odd\", ..Command::default() }};\n\
             router.command(show, |router, _| {{\n\
             router.set_feature(\"ip4-unicast\", \"odd\", 1, true)?;\n\
             panic!(\"in a command\") }})?;\n\
             {start}\n}}\n"
        );
        std::fs::write(folder.join("src/lib.rs"), source).unwrap();
        built(&folder)
    };
    let mut bench = bench();
    let before = state(&mut bench);
    let said = load(&mut bench, &build("panic!(\"at the start\")")).unwrap_err();
    assert!(said.contains("odd: ") && said.contains("at the start"), "{said}");
    assert_eq!(state(&mut bench), before);
    assert_eq!(load(&mut bench, &build("Ok(())")).as_deref(), Ok(""));
    assert_eq!(bench.pg0, InterfaceIndex(1));
    assert!(bench.run("show odd").unwrap_err().contains("in a command"));
    let packet = |port: u16| {
        let mut packet = udp4("10.0.0.2", "10.0.1.2", 9, b"four");
        packet[20] = port as u8;
        packet
    };
    assert_eq!(bench.send("ip4-input", &[packet(1), packet(2)]).len(), 2);
    assert_eq!(bench.send("ip4-input", &[packet(1), packet(7)]).len(), 0);
    assert_eq!(bench.send("ip4-input", &[packet(1), packet(2)]).len(), 2);
    let errors = bench.control(|router| router.engine.errors());
    let failed = errors.iter().find(|e| e.1 == "odd").map(|e| (e.2.name, e.3));
    assert_eq!((failed, bench.graph.buffers_used()), (Some(("node_failed", 2)), 0));
    bench.run("plugin unload odd").unwrap();
    assert_eq!(state(&mut bench), before);
}

/// Makes an interface that gives back what is sent by it, on a packet of its own, and marks what
/// passes.
const MIRROR: &str = r#"FERROVIA_PLUGIN("odd", "1", "")
static fv_metadata mark;
static uint32_t own;
static const char *const next[] = {"ip4-lookup", 0};
static const fv_text reasons[] = {{"unmarked", "Not marked"}, {0}};
static void transmit(void *s, fv_frame *f) {
    (void)s;
    for (uint32_t at = 0; at < f->count; at++) {
        fv_buffer *p = fv_packet(f, at);
        int is_marked = p->flags & mark.flag && *(uint64_t *)fv_place(p, &mark) == 7;
        f->verdicts[at] = is_marked ? FV_CONSUMED : FV_DROP(0);
    }
}
static void process(void *s, fv_frame *f) {
    (void)s;
    for (uint32_t at = 0; at < f->count; at++) {
        fv_buffer *p = fv_packet(f, at);
        uint32_t copy;
        if (p->rx == own || !fv_router->alloc(f, &copy, 1))
            continue;
        fv_buffer *new = fv_buffer_of(f, copy);
        new->len = p->len, new->rx = own;
        memcpy(fv_bytes(new), fv_bytes(p), p->len);
        if (at == 0) {
            fv_router->free(f, &copy, 1);
            f->verdicts[at] = FV_TAKEN;
            fv_router->send(f, f->thread, 0, &f->indices[at], 1);
            continue;
        }
        *(uint64_t *)fv_place(p, &mark) = 7;
        p->flags |= mark.flag;
        fv_router->send(f, f->thread, 0, &copy, 1);
    }
}
static int remove_it(fv_cx *cx, void *s, uint32_t n, const char *const *w) {
    (void)s; (void)n; (void)w;
    return fv_router->delete_interface(cx, own);
}
int fv_start(fv_cx *cx) {
    fv_interface made = {.name = "odd0", .hardware = "odd", .mtu = 1500, .transmit = transmit,
                         .reasons = reasons};
    fv_node node = {.name = "odd-node", .process = process, .next = next};
    fv_feature feature = {.arc = "ip4-unicast", .node = "odd-node", .before = "ip4-lookup"};
    fv_command command = {.path = "delete odd", .run = remove_it};
    return fv_router->metadata(cx, "odd", 8, &mark) || fv_router->interface(cx, &made, &own) ||
           fv_router->set_link(cx, own, 1) || fv_router->node(cx, &node) ||
           fv_router->feature(cx, &feature) || fv_router->command(cx, &command);
}
"#;

#[test]
fn a_plugin_makes_interfaces_and_packets_and_marks_them() {
    let _alone = alone();
    let mut bench = bench();
    let before = state(&mut bench);
    let file = written(MIRROR);
    for round in 0..3 {
        assert_eq!(load(&mut bench, &file).as_deref(), Ok(""));
        bench.set("set interface state odd0 up");
        let pg0 = bench.pg0.0;
        bench.control(|router| {
            let arc = router.engine.arc_named("ip4-unicast").unwrap();
            router.engine.set_feature(arc, "odd-node", pg0, true).unwrap();
        });
        let packet = udp4("10.0.0.2", "10.0.1.2", 9, b"four");
        // The first goes on by itself, the second and a copy of it.
        let odd0 = bench.control(|router| router.interfaces.named("odd0").unwrap().index.0);
        let caught = bench.send("ip4-input", &[packet.clone(), packet.clone()]);
        let at: Vec<_> = caught.iter().map(|caught| (caught.at.as_str(), caught.rx)).collect();
        let (own, new) = (("ip4-lookup", pg0), ("ip4-lookup", odd0));
        assert_eq!(at.iter().filter(|at| **at == own).count(), 2, "{at:?}");
        assert_eq!(at.iter().filter(|at| **at == new).count(), 1, "{at:?}");
        assert_eq!(bench.graph.buffers_used(), 0);
        assert!(bench.run("show hardware-interfaces odd0").unwrap().contains("odd"));
        let claims = |bench: &mut Bench| {
            bench.control(|router| router.engine.claims().any(|claim| claim.name == "odd"))
        };
        assert!(claims(&mut bench));
        if round == 1 {
            bench.set("delete odd");
            assert!(
                bench.run("delete odd").unwrap_err().contains("not an interface of the plugin")
            );
        }
        bench.run("plugin unload odd").unwrap();
        assert!(bench.control(|router| router.interfaces.named("odd0").is_none()));
        assert!(!claims(&mut bench));
        assert_eq!(state(&mut bench), before);
    }
}
