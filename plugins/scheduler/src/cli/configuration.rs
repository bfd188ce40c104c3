//! The settings as the commands that make them again.

use qos::Source;

use net::prelude::*;

use super::{
    Bind, ColorWord, SetMap, SetPipe, SetPort, SetProfile, SetRed, SetSubport, SetTable, SetTarget,
    SetVlan, USUAL_RED, unless,
};
use crate::plan::{CLASSES, Config, Level, Place};
use crate::{Scheduler, change};

/// The classes of marks, as few commands as there are runs.
fn maps(interface: InterfaceIndex, config: &Config, lines: &mut Lines<'_>) {
    for source in Source::ALL {
        let row = &config.map[source as usize];
        let mut from = 0;
        while from < row.len() {
            let place = row[from];
            let run = row[from..].iter().take_while(|p| **p == place).count();
            if place != Place::default() {
                let last = (from + run - 1) as u8;
                let Place { class: tc, queue } = place;
                let to = unless(last, from as u8);
                lines.push(&SetMap { interface, source, from: from as u8, to, tc, queue });
            }
            from += run;
        }
    }
}

fn of_port(interface: InterfaceIndex, config: &Config, lines: &mut Lines<'_>) {
    lines.push(&SetPort::of(interface, config));
    for (id, level) in &config.subports {
        if (*id, *level) != (0, Level::default()) {
            lines.push(&SetSubport::of(interface, *id, level));
        }
    }
    for ((subport, pipe), found) in &config.pipes {
        let (subport, pipe) = (*subport, *pipe);
        if (subport, pipe, found.profile) != (0, 0, 0) {
            let profile = unless(found.profile, 0);
            lines.push(&SetPipe { interface, subport, pipe, profile, del: false });
        }
    }
    maps(interface, config, lines);
    for (number, target) in &config.targets {
        let (subport, pipe) = (Some(target.pipe.0), Some(target.pipe.1));
        let tc = target.place.map(|place| place.class);
        let queue = target.place.and_then(|place| unless(place.queue, 0));
        lines.push(&SetTarget { interface, number: *number, subport, pipe, tc, queue, del: false });
    }
    if config.table.is_some() {
        lines.push(&SetTable { interface, table: config.table, del: false });
    }
    for (vlan, pipe) in &config.vlans {
        let (subport, pipe) = (Some(pipe.0), Some(pipe.1));
        lines.push(&SetVlan { interface, vlan: *vlan, subport, pipe, del: false });
    }
    for tc in 0..CLASSES {
        for color in ColorWord::ALL {
            let Some(red) = config.red[tc][color as usize] else { continue };
            let (inverse, weight) = USUAL_RED;
            lines.push(&SetRed {
                interface,
                tc: tc as u8,
                color,
                min: Some(red.min),
                max: Some(red.max),
                inverse: unless(red.inverse, inverse),
                weight: unless(red.weight, weight),
                del: false,
            });
        }
    }
}

/// All settings, as the commands that make them again.
pub fn configuration(router: &Router, lines: &mut Lines<'_>) {
    let scheduler = router.own::<Scheduler>();
    for (number, profile) in &scheduler.profiles {
        lines.push(&SetProfile::of(*number, profile));
    }
    for (interface, port) in &scheduler.ports {
        of_port(*interface, &port.config, lines);
    }
    for (interface, _, (subport, pipe)) in change::bound(router) {
        lines.push(&Bind { interface, subport: Some(subport), pipe: Some(pipe), del: false });
    }
}
