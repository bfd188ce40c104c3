//! Other threads: sessions stay where they are, or go over to a thread that stays.

use net::prelude::*;
use sessions::{New, Walked};

use super::Sfdp;
use super::session::{Family, Gone, Ip4, Ip6, One, next_id, number_of, owner_keys};
use super::user::User;

/// Moves the sessions of threads that end.
pub(super) fn changed(router: &mut Router, stay: &Range<usize>) -> Result<(), String> {
    move_over::<Ip4>(router, stay)?;
    move_over::<Ip6>(router, stay)?;
    move_over::<User>(router, stay)
}

fn move_over<F: Family>(router: &mut Router, stay: &Range<usize>) -> Result<(), String> {
    let core = router.own::<Sfdp>().core.clone();
    let of = F::of(&core).clone();
    let (seed, kept, gone) = (of.seed(), stay.clone(), Gone::default());
    let note = gone.clone();
    let moving = of.walk(router, move |thread, session: &mut One<F::Address>| {
        if kept.contains(&thread) {
            return Walked::keep(None);
        }
        note.push::<F>(seed, session);
        Walked::remove(Some(*session))
    });
    let moving = Arc::new(moving.map_err(|why| why.to_string())?);
    if moving.is_empty() {
        return Ok(());
    }
    gone.release(&mut router.own_mut::<Sfdp>().owners);
    let kept = stay.clone();
    let owner = move |session: &One<F::Address>| {
        kept.start + (session.forward.meeting(seed) % kept.len().max(1) as u64) as usize
    };
    let placed = Arc::new(std::sync::Mutex::new(Vec::new()));
    let to = Arc::clone(&placed);
    let done = of.visit(router, move |thread, table| {
        for session in moving.iter().filter(|session| owner(session) == thread) {
            let sessions::Session { forward, reverse, mut data, .. } = **session;
            data.id = next_id::<F>(table, thread);
            let new = New { forward, reverse, data, class: session.class() };
            // Where there is no room it ends.
            let Ok(at) = table.insert(new, session.heard(), |_, _| ()) else {
                core.count_end(thread, &data);
                continue;
            };
            table.note(at, session.packets, session.bytes, session.heard());
            if let Some(data) = table.data_mut(at) {
                data.number = number_of(at, data.id);
            }
            let mut to = to.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            to.push((owner_keys::<F>(session, seed), data.id));
        }
    });
    done.map_err(|why| why.to_string())?;
    let placed = std::mem::take(&mut *placed.lock().unwrap_or_else(|e| e.into_inner()));
    let owners = &mut router.own_mut::<Sfdp>().owners;
    for (keys, id) in placed {
        for key in keys {
            // Without memory for it others do not find it, and begin one of their own.
            let _ = owners.change(key, |_| infra::table::exact::Change::Set(id + 1));
        }
    }
    Ok(())
}
