//! Programs outside the daemon: they attach through app sockets and share memory with the threads.
//!
//! To the data path, an attached program is an application like those inside the daemon: its part
//! on a thread ([`part`]) copies data between streams and the memory of a lane (`host/lanes`). The
//! control thread handles its requests to attach, listen and connect at the app socket ([`socket`],
//! [`requests`]). Programs without memory of their own have a Unix socket for each session
//! ([`sockets`]). App sockets are disabled unless the startup configuration or a message enables
//! them.

mod admission;
mod calls;
mod errno;
mod moves;
mod part;
mod requests;
mod socket;
mod sockets;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ops::Range;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::Arc;

use control::feature::Refused;
use net::{Parts, Router};

use crate::control::namespaces::{self, Change};
use crate::control::{Control, Error, Hook};
use calls::Calls;
use requests::Client;
use socket::Socket;

/// Name of the process that serves app sockets.
const PROCESS: &str = "session-app-sockets";
/// Limit of attached programs.
const MOST: usize = 1024;

/// The folder of the daemon's sockets; the folder of app sockets is created in it.
#[derive(Clone, Debug)]
pub struct Folder(pub PathBuf);

/// State of the control thread.
#[derive(Default)]
struct Programs {
    /// Whether app sockets are enabled.
    is_on: bool,
    /// App sockets by namespace, each with its twin.
    listening: BTreeMap<u32, [Socket; 2]>,
    /// Sockets of programs.
    sockets: sockets::Groups,
    clients: Vec<Client>,
    /// Connections with messages.
    calls: Calls,
    /// Clones of it are with connections, also those that are being closed.
    tickets: Arc<()>,
}

/// An attached program, for display.
#[derive(Clone, Debug)]
pub struct Attached {
    /// Number of its application.
    pub app: u32,
    /// Process ID.
    pub pid: u32,
    /// Number of its namespace.
    pub namespace: u32,
}

/// The attached programs.
pub fn attached(router: &Router) -> Vec<Attached> {
    let clients = router.state::<Programs>().into_iter().flat_map(|all| &all.clients);
    clients.filter_map(Client::attached).collect()
}

fn programs(router: &Router) -> &Programs {
    router.own()
}

fn programs_mut(router: &mut Router) -> &mut Programs {
    router.own_mut()
}

/// Registers the state and the process.
///
/// # Errors
/// None.
pub(crate) fn register(parts: &mut Parts<'_>) -> Result<(), Refused> {
    let router = &mut *parts.router;
    let is_on = router.own::<Control>().has_app_sockets;
    router.insert(Programs { is_on, ..Programs::default() });
    router.processes.spawn(PROCESS, Box::new(requests::run));
    let calls = programs(router).calls.descriptor();
    if let Some(calls) = calls {
        // Without it nothing is heard, which is an error of each connection.
        let _ = router.processes.watch(PROCESS, calls.as_fd());
    }
    router.on_threads.push(follow_threads);
    crate::control::follow(router, Hook { switch, namespace: follow_namespace });
    Ok(())
}

/// Enables or disables app sockets. Disabling detaches the programs that use them.
///
/// # Errors
/// [`Error::AppSocket`]: the socket of a namespace cannot be created; then none is.
pub(crate) fn enable(router: &mut Router, is_on: bool) -> Result<(), Error> {
    let all = programs_mut(router);
    if all.is_on == is_on {
        return Ok(());
    }
    all.is_on = is_on;
    if !is_on {
        close_all(router);
        return Ok(());
    }
    let indices: Vec<u32> = namespaces::all(router).map(|(index, _)| index).collect();
    for index in indices {
        if let Err(why) = open(router, index) {
            programs_mut(router).is_on = false;
            close_all(router);
            return Err(Error::AppSocket(why));
        }
    }
    Ok(())
}

fn close_all(router: &mut Router) {
    let all = programs_mut(router);
    all.listening.clear();
    let gone = std::mem::take(&mut all.clients);
    gone.into_iter().for_each(|client| client.detach(router));
    sockets::end(router, None);
}

/// Creates the socket of a namespace.
fn open(router: &mut Router, index: u32) -> Result<(), String> {
    if router.is_trial() || !programs(router).is_on {
        return Ok(());
    }
    let Ok(namespace) = namespaces::at(router, index) else { return Ok(()) };
    let (id, name) = (namespace.of.id.clone(), namespace.of.socket.clone());
    let folder = router.state::<Folder>().map(|folder| folder.0.clone());
    // The old file would be in the way of the new one.
    programs_mut(router).listening.remove(&index);
    let pair = Socket::pair(folder.as_deref(), &id, &name)?;
    for socket in &pair {
        router.processes.watch(PROCESS, socket.fd()).map_err(|e| e.to_string())?;
    }
    programs_mut(router).listening.insert(index, pair);
    Ok(())
}

fn switch(router: &mut Router, is_on: bool) {
    if !is_on {
        // Applications are detached already.
        let all = programs_mut(router);
        all.listening.clear();
        all.clients.clear();
        sockets::end(router, None);
    }
}

fn follow_namespace(router: &mut Router, index: u32, change: Change) {
    match change {
        Change::Added => {
            if let Err(why) = open(router, index) {
                router.log.class("session", "app-socket").error(why);
            }
        }
        Change::Moved => {}
        Change::Deleting => {
            let all = programs_mut(router);
            all.listening.remove(&index);
            let is_of = |client: &mut Client| client.namespace == index;
            let gone: Vec<_> = all.clients.extract_if(.., is_of).collect();
            gone.into_iter().for_each(|client| client.detach(router));
            sockets::end(router, Some(index));
        }
    }
}

/// Moves bells to the new threads of the programs' parts.
fn follow_threads(router: &mut Router, _: &Range<usize>) -> Result<(), String> {
    let mut clients = std::mem::take(&mut programs_mut(router).clients);
    clients.iter_mut().for_each(|client| client.follow_threads(router));
    programs_mut(router).clients = clients;
    sockets::follow_threads(router);
    Ok(())
}
