//! Flows that are due though no packet passes, and those of threads that end.

use std::sync::{Mutex, PoisonError};

use net::prelude::*;
use sessions::Walked;

use crate::change::Flowprobe;
use crate::flow::Counted;
use crate::record::{Exported, export};

/// Flows that are looked at, and exported where they are due, before others have their turn:
/// strangers make flows, and all of a second are due in the same one.
const SLICE: usize = 512;

/// Exports some of the flows that are due, and ends some that are over; whether there are more.
pub fn export_due(router: &mut Router) -> bool {
    let flowprobe = router.own_mut::<Flowprobe>();
    let active = flowprobe.params.current().active;
    if active == 0 || flowprobe.streams.iter().all(Option::is_none) {
        flowprobe.look = None;
        return false;
    }
    let from = flowprobe.look.take().unwrap_or_default();
    let (flows, now) = (flowprobe.flows.clone(), router.now());
    let gone = Arc::new(Mutex::new(Vec::new()));
    let to = Arc::clone(&gone);
    let is_more = flows.expire(router, move |_, _, flow| {
        let record = Exported::of(flow);
        to.lock().unwrap_or_else(PoisonError::into_inner).push(record);
    });
    let due = flows.walk_some(router, from, SLICE, move |_, flow| {
        let record = Exported::of(flow);
        let is_due = flow.data.is_due(active, now);
        if is_due {
            flow.data = Counted::since(now);
        }
        Walked::keep(is_due.then_some(record))
    });
    let gone = std::mem::take(&mut *gone.lock().unwrap_or_else(PoisonError::into_inner));
    // Those of a thread that does not answer are met the next time.
    let (due, next) = due.unwrap_or_default();
    export_some(router, gone.into_iter().chain(due));
    let is_more = is_more || next.is_some();
    router.own_mut::<Flowprobe>().look = next;
    if !is_more {
        flush(router);
    }
    is_more
}

/// Exports the flows of threads that end, and ends those: their packets go to other threads from
/// then on.
///
/// # Errors
/// A thread that does not answer.
pub fn threads_changed(router: &mut Router, stay: &Range<usize>) -> Result<(), String> {
    let (flows, stay) = (router.own::<Flowprobe>().flows.clone(), stay.clone());
    let all = flows.walk(router, move |thread, flow| match stay.contains(&thread) {
        true => Walked::keep(None),
        false => Walked::remove(Some(Exported::of(flow))),
    });
    export_all(router, all.map_err(|e| e.to_string())?);
    Ok(())
}

fn export_all(router: &mut Router, records: impl IntoIterator<Item = Exported>) {
    export_some(router, records);
    flush(router);
}

fn export_some(router: &mut Router, records: impl IntoIterator<Item = Exported>) {
    for record in records.into_iter().filter(|record| record.counted.packets > 0) {
        export(router, record);
        router.own_mut::<Flowprobe>().has_exported = true;
    }
}

/// Sends records that were waiting for others to go along.
fn flush(router: &mut Router) {
    let flowprobe = router.own_mut::<Flowprobe>();
    let is_any = std::mem::take(&mut flowprobe.has_exported);
    let streams = flowprobe.streams;
    for stream in streams.into_iter().flatten().filter(|_| is_any) {
        ipfix::send_records(router, stream);
    }
}
