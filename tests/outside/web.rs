//! The console in a real browser: `web/test.mjs` drives Chromium, without a window.

use std::path::Path;
use std::process::Command;

use tests::{has, skip};

use crate::http::Served;

#[test]
fn the_console_shows_what_the_router_does() {
    let web = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../web"));
    let chromium = ["chromium", "chromium-browser", "google-chrome"];
    let found =
        chromium.into_iter().find(|name| Command::new(name).arg("--version").output().is_ok());
    let Some(chromium) = found else { return skip("there is no Chromium") };
    if !has("node") {
        return;
    }
    if !web.join("node_modules/playwright-core").exists() {
        return skip("playwright-core is missing: cd web && npm install --no-save");
    }
    let served = Served::start("");
    let to = |name: &str, address: &str, rate: u32| {
        format!(
            "packet-generator new {{ name {name} limit 0 rate {rate} size 100-100 interface pg0 \
             node ethernet-input data {{ IP4: 02:00:00:00:00:01 -> 02:00:00:00:00:aa \
             UDP: 10.0.0.2 -> {address} UDP: 1 -> 2 incrementing 30 }} }}"
        )
    };
    served.daemon.tell(&to("good", "16.0.0.1", 500));
    served.daemon.tell(&to("bad", "99.0.0.1", 50));
    served.daemon.tell("packet-generator enable");
    let pictures = std::env::var_os("FERROVIA_PICTURES").unwrap_or_default();
    let said = Command::new("node")
        .arg("test.mjs")
        .args([chromium, &served.port.to_string(), &served.token])
        .arg(pictures)
        .current_dir(web)
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(said.status.success(), "{}{}", text(&said.stdout), text(&said.stderr));
    assert!(text(&said.stdout).ends_with("all is shown\n"), "{}", text(&said.stdout));
}
