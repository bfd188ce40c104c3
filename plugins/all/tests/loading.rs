//! Built-in plugins come and go by name while packets flow.
#![forbid(unsafe_code)]

use std::collections::BTreeSet;

use control::log::Log;
use graph::Settings;
use loader::Loader;
use net::testing::Rig;
use net::{Assembly, Feature, Router};

/// A router with all features that are loaded by default; its engine runs.
fn rig() -> Rig {
    let features: Vec<Feature> = plugins::features().copied().collect();
    let mut rig = Rig::new(&features);
    rig.router.own_mut::<Loader>().features = plugins::features().collect();
    rig.control(Router::publish_counters);
    rig
}

/// All that clients and packets can meet: nodes, commands, messages, counters, processes.
fn seen(rig: &mut Rig) -> [BTreeSet<String>; 5] {
    rig.connected(|rig| {
        let router: &Router = &rig.router;
        [
            router.engine.node_names().map(|(_, name)| name.to_owned()).collect(),
            rig.cli.paths().into_iter().collect(),
            rig.api.messages().map(|(id, info, _)| format!("{id} {}", info.name)).collect(),
            router.stats.iter().map(|(name, _)| name.to_owned()).collect(),
            router.processes.status().map(|process| process.name.to_owned()).collect(),
        ]
    })
}

/// Unloads all that can be; returns their names in the order in which they went.
fn unload_all(rig: &mut Rig) -> Vec<&'static str> {
    let mut gone = Vec::new();
    loop {
        let names: Vec<_> = rig.router.features.iter().map(|(_, f)| f.name).collect();
        let before = gone.len();
        for name in names {
            if rig.attempt(&format!("plugin unload {name}")).is_ok() {
                gone.push(name);
            }
        }
        if gone.len() == before {
            return gone;
        }
    }
}

#[test]
fn every_plugin_goes_and_comes_back_as_it_was() {
    let mut rig = rig();
    let before = seen(&mut rig);
    for _ in 0..2 {
        let gone = unload_all(&mut rig);
        let core = net::FEATURES.iter().chain([&loader::FEATURE]).map(|f| f.name);
        let core: BTreeSet<_> = core.collect();
        let left: BTreeSet<_> = rig.router.features.iter().map(|(_, f)| f.name).collect();
        assert_eq!(left, core, "nobody uses anything");
        let bare = seen(&mut rig);
        for (bare, before) in bare.iter().zip(&before) {
            let more: Vec<_> = bare.difference(before).collect();
            assert!(more.is_empty(), "{more:?}");
        }
        let unloaded = rig.run("show configuration");
        assert_eq!(unloaded.lines().count(), gone.len(), "{unloaded}");
        for name in gone.iter().rev() {
            assert_eq!(rig.run(&format!("plugin load {name}")), "", "{name}");
        }
        for (now, before) in seen(&mut rig).iter().zip(&before) {
            let differ: Vec<_> = now.symmetric_difference(before).collect();
            assert!(differ.is_empty(), "{differ:?}");
        }
        assert_eq!(rig.run("show configuration"), "");
    }
}

/// Says what is wrong with a command, and changes nothing by it.
#[track_caller]
fn refused(rig: &mut Rig, line: &str, why: &str) {
    let before = rig.run("show configuration");
    let said = rig.attempt(line).unwrap_err();
    assert!(said.contains(why), "{said}");
    assert_eq!(rig.run("show configuration"), before);
}

#[test]
fn with_all_features_every_edge_leads_to_a_node() {
    let router = Router::new(Settings { buffers: 64, ..Settings::default() }, Log::new()).unwrap();
    let mut all = Assembly::new(router);
    plugins::features().for_each(|feature| all.add(feature).unwrap());
    all.router.engine.build().unwrap();
    assert_eq!(all.router.engine.open_edges().next(), None);
}

#[test]
fn plugins_that_others_need_or_that_are_in_use_stay() {
    let mut rig = rig();
    refused(&mut rig, "plugin unload ping", ": ikev2 requires ping: unload it first");
    rig.set("plugin unload ikev2");
    refused(&mut rig, "plugin unload ping", ": dns requires ping: unload it first");
    rig.set("plugin unload dns");
    refused(&mut rig, "plugin unload ping", ": traceroute requires ping: unload it first");
    refused(&mut rig, "plugin unload ip4", ": ip4 is part of the router: it cannot be unloaded");
    refused(&mut rig, "plugin unload loader", ": loader is part of the router");
    refused(&mut rig, "plugin unload nosuch", ": nosuch is not loaded");
    refused(&mut rig, "plugin load ping", ": ping is already loaded");
    rig.set("plugin unload traceroute\nplugin unload ping_plugin.so");
    let why = ": traceroute requires ping, which is not loaded";
    refused(&mut rig, "plugin load traceroute", why);
    rig.set("create packet-generator interface pg0");
    rig.set("set urpf ip4 rx strict pg0");
    let why = "urpf is in use: it is configured: `set urpf ip4 rx strict pg0'";
    refused(&mut rig, "plugin unload urpf", why);
    rig.set("set urpf ip4 rx off pg0\nplugin unload urpf");
    assert!(rig.attempt("set urpf ip4 rx strict pg0").is_err());
    // Targets of routes stay, whichever the source of the routes.
    rig.set("ip route add 16.0.0.0/8 via dvr pg0");
    refused(&mut rig, "plugin unload dvr", "dvr is in use: routes lead to ");
    rig.set("ip route del 16.0.0.0/8\nplugin unload dvr");
    let printed = rig.run("show configuration");
    let gone = ["ikev2", "dns", "traceroute", "ping", "urpf", "dvr"];
    let gone = gone.map(|name| format!("plugin unload {name}\n")).concat();
    assert!(printed.starts_with(&gone), "{printed}");
    // Another router becomes the same by it.
    let mut other = self::rig();
    other.set(&printed);
    assert_eq!(other.run("show configuration"), printed);
}

#[test]
fn a_plugin_that_comes_late_knows_the_interfaces_there_are() {
    let mut rig = rig();
    rig.set("plugin unload mss_clamp\nplugin unload urpf");
    rig.set("create packet-generator interface pg0\nset interface ip address pg0 10.0.0.1/24");
    rig.set("plugin load mss_clamp\nplugin load urpf");
    rig.set("set interface tcp-mss-clamp pg0 ip4 enable ip4-mss 1000");
    rig.set("set urpf ip4 rx strict pg0");
    let features = rig.run("show interface features pg0");
    for node in ["tcp-mss-clamping-ip4-in", "ip4-rx-urpf-strict"] {
        assert!(features.contains(node), "{features}");
    }
}

/// Runs a command in slices, and unloads and loads a plugin between them.
fn with_reloads(rig: &mut Rig, line: &str, plugin: &str) -> Result<(), String> {
    use control::cli::{Output, Run, Step};
    let mut run = Run::new(line);
    loop {
        let step = rig.connected(|rig| run.step(&rig.cli, &mut rig.router, &mut Output::none()));
        match step {
            Step::Done(result) => return result.map_err(|error| error.to_string()),
            Step::Sleep(time) => std::thread::sleep(time),
            Step::Again | Step::Wait => {}
        }
        let verb = match rig.router.features.iter().any(|(_, feature)| feature.name == plugin) {
            true => "unload",
            false => "load",
        };
        let _ = rig.attempt(&format!("plugin {verb} {plugin}"));
    }
}

#[test]
fn a_plugin_that_goes_in_the_middle_stops_no_later_replacement() {
    let mut rig = rig();
    let lines: String =
        (0..60).map(|n| format!("create loopback interface instance {n}\n")).collect();
    rig.attempt(&lines).unwrap();
    let whole = rig.run("show configuration");
    let path = |name: &str| {
        let name = format!("ferrovia-reload-{}-{name}", std::process::id());
        std::env::temp_dir().join(name)
    };
    let (whole_file, empty_file) = (path("whole"), path("empty"));
    std::fs::write(&whole_file, &whole).unwrap();
    std::fs::write(&empty_file, "").unwrap();
    for file in [&empty_file, &whole_file, &empty_file, &whole_file] {
        for command in ["configure replace", "configure check", "show configuration diff"] {
            // It may be refused: the plugin is not loaded when it ends.
            let _ = with_reloads(&mut rig, &format!("{command} {}", file.display()), "lldp");
        }
        let _ = with_reloads(&mut rig, "commit", "lldp");
    }
    let _ = rig.attempt("plugin load lldp");
    let said = rig.run(&format!("configure replace {}", whole_file.display()));
    assert_eq!(said, "", "the configuration is not locked");
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<BTreeSet<_>>();
    assert_eq!(lines(&rig.run("show configuration")), lines(&whole));
    std::fs::remove_file(whole_file).unwrap();
    std::fs::remove_file(empty_file).unwrap();
}
