//! Drops every Nth packet that an interface receives. A plugin for Ferrovia in Rust.
use std::sync::Arc;

use ferrovia_sdk::prelude::*;

ferrovia_sdk::plugin! {
    name: "nth_drop",
    version: env!("CARGO_PKG_VERSION"),
    about: "Drops every Nth packet of an interface",
    requires: "ip4 ip6",
    start: start,
}

/// Arc, node and the node at the arc's end, of each version.
const PLACES: [(&str, &str, &str); 2] =
    [("ip4-unicast", "nth-drop-ip4", "ip4-lookup"), ("ip6-unicast", "nth-drop-ip6", "ip6-lookup")];

/// Settings and counters.
struct State {
    /// N of each interface; 0 drops none.
    every: PerInterface,
    dropped: Counters,
}

/// Drops packets of IPv4 or IPv6.
struct Drop<const VERSION: usize>(Arc<State>);

impl<const VERSION: usize> Node for Drop<VERSION> {
    /// Packets of each interface that a thread has seen.
    type Local = Vec<u32>;
    const REASONS: &'static [(&'static str, &'static str)] = &[("dropped", "Every Nth packet.")];
    const DROP: &'static str = ["ip4-drop", "ip6-drop"][VERSION];

    fn process(&self, seen: &mut Vec<u32>, frame: &mut Frame<'_>) {
        seen.resize(65536, 0); // which it has from the first frame on
        frame.each(|p| {
            let (rx, every) = (p.rx(), self.0.every.get(p.rx()));
            let Some(seen) = seen.get_mut(rx as usize).filter(|_| every > 0) else {
                return Verdict::Continue;
            };
            *seen += 1;
            if *seen < every {
                return Verdict::Continue;
            }
            *seen = 0;
            self.0.dropped.add(p, rx, 1);
            p.trace(|| "nth-drop: its turn".to_owned());
            Verdict::Drop(0)
        });
    }
}

/// The setting of an interface, or the number of the error.
fn set(router: &mut Router<'_>, state: &State, interface: u32, every: u32) -> Result<(), i32> {
    if every == 1 {
        return Err(retval::INVALID_VALUE);
    }
    for (arc, node, _) in PLACES {
        let done = router.set_feature(arc, node, interface, every > 0);
        done.map_err(|_| retval::INVALID_SW_IF_INDEX)?;
    }
    state.every.set(interface, every);
    Ok(())
}

fn set_command(router: &mut Router<'_>, state: &State, words: &[&str]) -> Result<(), Error> {
    let [name, every] = words else { return Err("an interface and a number are needed".into()) };
    let found = router.interface_named(name);
    let interface = found.ok_or_else(|| format!("unknown interface `{name}'"))?;
    let every = every.parse().map_err(|_| format!("invalid every `{every}'"))?;
    set(router, state, interface, every).map_err(|_| "every must be 0 or at least 2".into())
}

/// The interfaces that drop, with N and what was dropped.
fn rows(router: &mut Router<'_>, state: &State) -> Vec<(u32, u32, u64)> {
    let all = router.interfaces().into_iter();
    let rows = all.map(|i| (i, state.every.get(i), state.dropped.sum(i)));
    rows.filter(|(_, every, _)| *every > 0).collect()
}

fn show(router: &mut Router<'_>, state: &State) {
    let mut json = Vec::new();
    for (interface, every, dropped) in rows(router, state) {
        let name = router.interface_name(interface).unwrap_or_default();
        router.print(format_args!("{name}: every {every}, {dropped} dropped\n"));
        let row = format!(r#""interface":"{name}","every":{every},"dropped":{dropped}"#);
        json.push(format!("{{{row}}}"));
    }
    router.json(&format!("[{}]", json.join(",")));
}

fn start(router: &mut Router<'_>) -> Result<(), Error> {
    let dropped = router.counters("/nth-drop/dropped")?;
    let state = Arc::new(State { every: PerInterface::default(), dropped });
    let of = || Arc::clone(&state);
    let place = |version: usize| [Place::before(PLACES[version].0, PLACES[version].2)];
    router.node(PLACES[0].1, Drop::<0>(of()), &place(0))?;
    router.node(PLACES[1].1, Drop::<1>(of()), &place(1))?;
    let command = Command {
        path: "set interface nth-drop",
        usage: "<interface> <every>",
        about: "Drop every Nth packet of an interface; 0 drops none",
    };
    let state = of();
    router.command(command, move |router, words| set_command(router, &state, words))?;
    let command = Command {
        path: "show interface nth-drop",
        about: "Show the interfaces that drop every Nth packet",
        ..Command::default()
    };
    let state = of();
    router.command(command, move |router, words| match words {
        [] => Ok(show(router, &state)),
        [word, ..] => Err(format!("unknown input `{word}'").into()),
    })?;
    let module = Message { module: "nth_drop", version: "1.0.0", ..Message::default() };
    let state = of();
    router.configuration(move |lines| {
        for (interface, every, _) in rows(lines, &state) {
            let name = lines.interface_name(interface).unwrap_or_default();
            lines.line(Stage::Attachments, format_args!("set interface nth-drop {name} {every}"));
        }
    })?;
    let fields = "interface_index sw_if_index; u32 every;";
    let (state, message) = (of(), Message { name: "nth_drop_set", fields, ..module });
    router.message(message, move |router, mut m| {
        set(router, &state, m.u32(), m.u32()).err().unwrap_or(0)
    })?;
    let answer = "interface_index sw_if_index; u32 every; u64 dropped;";
    let (state, message) = (of(), Message { name: "nth_drop_dump", answer, ..module });
    router.message(message, move |router, _| {
        for (interface, every, dropped) in rows(router, &state) {
            router.answer(&Bytes::default().u32(interface).u32(every).u64(dropped).0);
        }
        0
    })?;
    let state = of();
    router.on_interface(move |router, interface, change| {
        if change == Change::Deleting && state.every.get(interface) > 0 {
            let _ = set(router, &state, interface, 0);
        }
    })
}
