//! Flows that are due though no packet passes, and those of threads that end.

use std::sync::{Mutex, PoisonError};

use net::prelude::*;
use sessions::Walked;

use crate::change::Flowprobe;
use crate::flow::Counted;
use crate::record::{Exported, export};

/// Exports flows that are due, and ends those that are over.
pub fn export_due(router: &mut Router) {
    let flowprobe = router.own::<Flowprobe>();
    let active = flowprobe.params.current().active;
    if active == 0 || flowprobe.streams.iter().all(Option::is_none) {
        return;
    }
    let (flows, now) = (flowprobe.flows.clone(), router.now());
    let gone = Arc::new(Mutex::new(Vec::new()));
    let to = Arc::clone(&gone);
    flows.expire(router, move |_, _, flow| {
        let record = Exported::of(flow);
        to.lock().unwrap_or_else(PoisonError::into_inner).push(record);
    });
    // Those of a thread that does not answer are met the next time.
    let due = flows.walk(router, move |_, flow| {
        let record = Exported::of(flow);
        let is_due = flow.data.is_due(active, now);
        if is_due {
            flow.data = Counted::since(now);
        }
        Walked::keep(is_due.then_some(record))
    });
    let gone = std::mem::take(&mut *gone.lock().unwrap_or_else(PoisonError::into_inner));
    export_all(router, gone.into_iter().chain(due.unwrap_or_default()));
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
    let mut is_any = false;
    for record in records.into_iter().filter(|record| record.counted.packets > 0) {
        export(router, record);
        is_any = true;
    }
    // What waited for its time waits no longer.
    let streams = router.own::<Flowprobe>().streams;
    for stream in streams.into_iter().flatten().filter(|_| is_any) {
        ipfix::send_records(router, stream);
    }
}
