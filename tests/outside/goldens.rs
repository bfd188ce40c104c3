//! Decisions made in many places and reviewed in one: compared with the files in `docs/reference`.
//!
//! `FERROVIA_BLESS=1` writes them anew.

use std::fs;
use std::path::Path;

use net::Assembly;

fn compare(name: &str, now: &str) {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference")).join(name);
    if std::env::var_os("FERROVIA_BLESS").is_some() {
        fs::write(&path, now).unwrap();
    }
    let reviewed = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        reviewed == now,
        "docs/reference/{name} is not what there is now (FERROVIA_BLESS=1 writes it):\n{now}"
    );
}

#[test]
fn the_order_of_features_is_as_reviewed() {
    let Assembly { mut router, cli, .. } = crate::parts();
    compare("arcs.txt", &cli.run(&mut router, "show features").text());
}
