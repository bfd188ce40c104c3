//! Sessions that are listed or ended, in slices.

use net::prelude::*;
use sessions::Walked;
use sessions::slices::{Gather, Slices};

use crate::error::Error;
use crate::session::NatSession;
use crate::state::{Kind, Nat, Shown};

impl<K: Kind> Nat<K> {
    /// All sessions for which `is_meant`, in slices, each with its thread.
    pub fn slices(
        router: &Router,
        is_meant: impl Fn(&NatSession) -> bool + Clone + Send + 'static,
    ) -> Slices<Shown> {
        let sessions = router.own::<Self>().sessions.current();
        let Some(sessions) = sessions else { return sessions::slices::nothing() };
        sessions.slices(move |thread, session: &mut NatSession| {
            Walked::keep(is_meant(session).then_some((thread, *session)))
        })
    }
    /// Ends all sessions for which `is_meant`, most of many in later turns of control; returns how
    /// many so far.
    ///
    /// # Errors
    /// [`Error::NoAnswer`].
    pub fn remove_sessions(
        router: &mut Router,
        is_meant: impl Fn(&NatSession) -> bool + Clone + Send + 'static,
    ) -> Result<usize, Error> {
        let nat = router.own::<Self>();
        let Some(sessions) = nat.sessions.current().clone() else { return Ok(0) };
        let (look, told) = (Self::ending(router, is_meant), sessions.clone());
        let done = move |router: &mut Router, gone: Vec<_>| Self::tell(router, &told, &gone);
        sessions.sweep(router, look, done).map_err(|_| Error::NoAnswer)
    }
    /// Ends the sessions for which `is_meant`, gathered in slices: an error where there are none.
    pub fn ended<R: 'static>(
        router: &Router,
        is_meant: impl Fn(&NatSession) -> bool + Clone + Send + 'static,
        answer: impl FnOnce(Result<(), Error>) -> R + 'static,
    ) -> Gather<(), R> {
        let sessions = router.own::<Self>().sessions.current().clone();
        let slices: Slices<()> = match sessions {
            None => sessions::slices::nothing(),
            Some(sessions) => {
                let mut gone = sessions.slices(Self::ending(router, is_meant));
                Box::new(move |router| {
                    let Some(gone) = gone(router)? else { return Ok(None) };
                    Self::tell(router, &sessions, &gone);
                    Ok(Some(vec![(); gone.len()]))
                })
            }
        };
        Gather::all(slices, move |_, gone| {
            answer(match gone {
                Ok(gone) if gone.is_empty() => Err(Error::Unknown),
                Ok(_) => Ok(()),
                Err(_) => Err(Error::NoAnswer),
            })
        })
    }
    /// Ends a session on its thread if it `is_meant`.
    pub(crate) fn ending(
        router: &Router,
        is_meant: impl Fn(&NatSession) -> bool + Clone + Send + 'static,
    ) -> impl Fn(usize, &mut NatSession) -> Walked<NatSession> + Clone + Send + 'static {
        let core = router.own::<Self>().core.clone();
        move |thread, session| {
            if !is_meant(session) {
                return Walked::keep(None);
            }
            K::ended(&core, thread, session);
            Walked::remove(Some(*session))
        }
    }
}
