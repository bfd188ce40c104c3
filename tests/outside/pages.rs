//! Pages of tasks in `docs/tasks`: all of their commands are run, in namespaces of their own.
//!
//! Blocks of a page, in order: `sh` is run by a shell, `sh with PATH` where that program is
//! installed, `ferrovia` are commands for the router, `text` after one of them is a part of its
//! output (blanks do not count, `...` leaves out lines), `startup` goes into
//! `/etc/ferrovia/startup.conf`. `sh once` changes the machine: `tools/newcomer.sh` runs these.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use tests::program;

/// Text before the blocks: folders of its own, and a service without systemd.
const HEAD: &str = r#"
set -euo pipefail
mkdir -p /etc/ferrovia /var/lib/ferrovia
for folder in /run /etc/ferrovia /var/lib/ferrovia; do
    mount -t tmpfs none $folder
done
mkdir -p /run/netns /run/vpp
# FRR has its packaged settings, and may change them and write its sockets.
if [ -d /etc/frr ]; then
    cp -a /etc/frr /run/frr.settings
    mount --bind /run/frr.settings /etc/frr
    mkdir -m 0777 /run/frr
fi
ip link set lo up
echo 'unix { nodaemon }' > /etc/ferrovia/startup.conf
export STATE_DIRECTORY=/var/lib/ferrovia
systemctl() {
    case $1 in stop | restart) kill $router; wait $router || true ;; esac
    [ $1 = stop ] && return
    ferrovia -c /etc/ferrovia/startup.conf > /run/vpp/output 2>&1 &
    router=$!
    for _ in $(seq 600); do fvctl show version > /dev/null 2>&1 && return; sleep 0.1; done
    cat /run/vpp/output; false
}
output=/run/vpp/last
trap 'code=$?; [ $code = 0 ] || cat $output; exit $code' EXIT
contains() {
    while read -r line; do
        [ "$line" = ... ] || tr -s ' \t' ' ' < $output | grep -F -- "$line" > /dev/null || {
            echo "no line '$line' in:"; exit 1
        }
    done
}
"#;

/// The script that a page is.
fn script(page: &str) -> String {
    let mut text = HEAD.to_owned();
    let mut has_begun = false;
    for (at, part) in page.split("```").enumerate().filter(|(at, _)| at % 2 == 1) {
        let (kind, body) = part.split_once('\n').unwrap_or((part, ""));
        let line = page.split("```").take(at).map(|p| p.matches('\n').count()).sum::<usize>() + 1;
        if kind == "startup" {
            writeln!(text, "cat >> /etc/ferrovia/startup.conf <<'END'\n{body}END").unwrap();
            continue;
        }
        if !has_begun {
            text.push_str("systemctl start ferrovia\n");
            has_begun = true;
        }
        writeln!(text, "echo 'line {line}'").unwrap();
        if let Some(program) = kind.strip_prefix("sh with ") {
            let run = format!("if [ -e {program} ]; then\nskipped=\n{{\n{body}}} > $output\nfi");
            writeln!(text, "skipped=1\n{run}").unwrap();
            continue;
        }
        if kind != "text" {
            text.push_str("skipped=\n");
        }
        match kind {
            "sh" => writeln!(text, "{{\n{body}}} > $output"),
            "ferrovia" => {
                writeln!(text, "fvctl > $output <<'END'\n{body}END")
            }
            "text" => {
                let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
                let body: Vec<_> = body.lines().map(words).collect();
                writeln!(text, "[ $skipped ] || contains <<'END'\n{}\nEND", body.join("\n"))
            }
            _ => Ok(()),
        }
        .unwrap();
    }
    text.push_str("kill $router; wait $router\n");
    text
}

fn carry_out(name: &str) {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: namespaces need root");
        return;
    }
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/tasks")).join(name);
    let page = fs::read_to_string(path).unwrap();
    let programs = program("ferrovia");
    let found = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("unshare")
        .args(["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"])
        .args(["bash", "-c", &script(&page)])
        .env("PATH", format!("{}:{found}", programs.parent().unwrap().display()))
        // Where the package puts libraries of programs.
        .env("LD_LIBRARY_PATH", std::env::current_exe().unwrap().parent().unwrap())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].map(|t| String::from_utf8_lossy(&t).into_owned());
    assert!(output.status.success(), "{name}, after the last line:\n{}", text.concat());
}

macro_rules! pages {
    ($($test:ident $page:literal)*) => {
        $(#[test]
        fn $test() {
            carry_out($page);
        })*

        #[test]
        fn every_page_is_tried() {
            let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/tasks");
            let tried = [$($page),*];
            for file in fs::read_dir(folder).unwrap().flatten() {
                let name = file.file_name().into_string().unwrap();
                assert!(tried.contains(&&*name), "{name}");
            }
        }
    };
}

pages! {
    five_minutes_to_a_routed_ping "start.md"
    a_router "router.md"
    a_switch "switch.md"
    address_translation_for_many "cgnat.md"
    tunnels "tunnels.md"
    access_lists "access-lists.md"
    a_firewall "firewall.md"
    quality_of_service "quality-of-service.md"
    a_laboratory "laboratory.md"
    routing_protocols "routing-protocols.md"
    a_home_router "home-router.md"
    wireguard "wireguard.md"
    a_pair_with_vrrp "high-availability.md"
    virtual_machines_and_containers "nfv.md"
    monitoring "monitoring.md"
    coming_from_vpp "coming-from-vpp.md"
    upgrading "upgrading.md"
    servers_on_the_router "host-stack.md"
    a_fleet "fleet.md"
    sizing "sizing.md"
    platforms "platforms.md"
}

/// Paths of all pages below a folder, from `docs`.
fn pages_below(folder: &Path, prefix: &str, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let name = format!("{prefix}{}", entry.file_name().into_string().unwrap());
        if entry.path().is_dir() && name != "reference/api" {
            pages_below(&entry.path(), &format!("{name}/"), found);
        } else if name.ends_with(".md") {
            found.push(name);
        }
    }
}

#[test]
fn every_page_is_in_the_summary_and_its_links_lead_to_files() {
    let docs = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs"));
    let summary = fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    let mut found = Vec::new();
    pages_below(docs, "", &mut found);
    for name in found {
        assert!(name == "SUMMARY.md" || summary.contains(&format!("({name})")), "{name}");
        let page = fs::read_to_string(docs.join(&name)).unwrap();
        let folder = docs.join(&name).parent().unwrap().to_owned();
        for link in page.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = link.split('#').next().unwrap();
            let is_here = file.ends_with(".md") || file.ends_with(".json");
            let leads = link.contains("://") || !is_here || folder.join(file).exists();
            assert!(leads, "{name}: {link}");
        }
    }
}

#[test]
fn a_page_that_is_wrong_is_found() {
    let page = "```ferrovia\nshow version\n```\n\n```text\nanother   router\n```\n";
    let script = script(page);
    assert!(script.contains("fvctl > $output") && script.contains("another router\n"), "{script}");
    assert!(script.contains("echo 'line 5'"), "{script}");
}

#[test]
fn blocks_of_missing_programs_are_skipped_with_their_output() {
    let page = "```sh with /missing\nfalse\n```\n```text\nx\n```\n```sh\ntrue\n```\n";
    let script = script(page);
    let tail = script.split_once("systemctl start ferrovia\n").unwrap().1;
    let names = "output=/dev/null; router=1; kill() { :; }; wait() { :; }; contains() { exit 9; }";
    let shell = format!("{names}\n{tail}");
    let status = Command::new("bash").args(["-euc", &shell]).status().unwrap();
    assert!(status.success(), "{shell}");
}
