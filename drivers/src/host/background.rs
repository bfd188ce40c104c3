//! Work that the kernel takes long for, on a thread of its own, while control serves others:
//! opening devices, writing files.

use std::any::Any;
use std::io;
use std::marker::PhantomData;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::time::Duration;

use control::api::{self, Retval};
use control::cli::{self, Output, Step};
use net::{InterfaceIndex, Router};

use super::serving::Served;

/// Interval between checks whether the kernel is done.
const LOOK: Duration = Duration::from_millis(1);

/// Work on a thread of its own.
#[derive(Debug)]
pub struct Background<T> {
    /// One type for all results: what a channel needs is compiled once.
    result: Receiver<io::Result<Box<dyn Any + Send>>>,
    of: PhantomData<fn() -> T>,
}

impl<T: Send + 'static> Background<T> {
    /// Begins it.
    pub fn begin(work: impl FnOnce() -> T + Send + 'static) -> Self {
        Self { result: begin(Box::new(move || Box::new(work()))), of: PhantomData }
    }
    /// Result; `None` while it is at work.
    pub fn result(&self) -> Option<io::Result<T>> {
        let failed = || io::Error::other("the work failed");
        match self.result.try_recv() {
            Ok(Ok(result)) => Some(result.downcast().map(|r| *r).map_err(|_| failed())),
            Ok(Err(error)) => Some(Err(error)),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(Err(failed())),
        }
    }
}

fn begin(
    work: Box<dyn FnOnce() -> Box<dyn Any + Send> + Send>,
) -> Receiver<io::Result<Box<dyn Any + Send>>> {
    let (done, wait) = sync_channel(1);
    let answer = done.clone();
    // Who waits may be gone; what was made goes then, too.
    let work = move || drop(answer.send(Ok(work())));
    if let Err(e) = std::thread::Builder::new().name("opener".to_owned()).spawn(work) {
        drop(done.send(Err(e)));
    }
    wait
}

/// An answer that waits for work elsewhere, for the command line and for clients.
pub struct Pending<R> {
    look: Box<Look<R>>,
}

/// Returns the answer if it has arrived.
type Look<R> = dyn FnMut(&mut Router) -> Option<R>;

impl<R: 'static> Pending<R> {
    /// An answer that has arrived already.
    pub fn ready(answer: R) -> Self {
        let mut answer = Some(answer);
        Self { look: Box::new(move |_| answer.take()) }
    }
    /// One that is made of what the work led to.
    pub fn new<T: Send + 'static>(
        work: Background<T>,
        finish: impl FnOnce(&mut Router, io::Result<T>) -> R + 'static,
    ) -> Self {
        let mut finish = Some(finish);
        let look = move |router: &mut Router| {
            let result = work.result()?;
            Some(finish.take()?(router, result))
        };
        Self { look: Box::new(look) }
    }
    /// Returns the answer, once, if it has arrived.
    pub fn look(&mut self, router: &mut Router) -> Option<R> {
        (self.look)(router)
    }
}

impl cli::Task<Router> for Pending<Result<String, cli::Error>> {
    fn step(&mut self, router: &mut Router, out: &mut Output) -> Step {
        match (self.look)(router) {
            None => Step::Sleep(LOOK),
            Some(answer) => Step::Done(answer.map(|text| out.append(Output::text(text)))),
        }
    }
}

impl cli::Task<Router> for Pending<Result<Output, cli::Error>> {
    fn step(&mut self, router: &mut Router, out: &mut Output) -> Step {
        match (self.look)(router) {
            None => Step::Sleep(LOOK),
            Some(answer) => Step::Done(answer.map(|output| out.append(output))),
        }
    }
}

impl<R> api::Task<Router> for Pending<Result<R, Retval>> {
    type Reply = R;

    fn step(&mut self, router: &mut Router) -> api::Slice<R> {
        (self.look)(router).map_or(api::Slice::Sleep(LOOK), api::Slice::Done)
    }
}

/// The interfaces of a driver, each made of what is opened in the background.
pub trait Opens: Served {
    /// Parameters of an interface.
    type Wanted: 'static;
    /// The result of the work.
    type Made: Send + 'static;

    /// Begins to make an interface, for [`finish`](Self::finish). May fill in what was left open.
    ///
    /// # Errors
    /// The driver's, as far as they can be seen now.
    fn begin(
        &mut self,
        router: &Router,
        wanted: &mut Self::Wanted,
    ) -> Result<Opening<Self>, Self::Error>;
    /// Makes an interface, down.
    ///
    /// # Errors
    /// The driver's; nothing is made then.
    fn finish(
        &mut self,
        router: &mut Router,
        wanted: Self::Wanted,
        made: io::Result<Result<Self::Made, Self::Error>>,
    ) -> Result<InterfaceIndex, Self::Error>;
}

/// The parts of a driver's interface, while they are opened.
pub type Opening<D> = Background<Result<<D as Opens>::Made, <D as Served>::Error>>;

/// An interface that was made, or why not.
pub type Made<D> = Result<InterfaceIndex, <D as Served>::Error>;

/// Creates an interface of a driver, and reports it with `answer`, and errors as `E`.
pub fn make<D: Opens, R: 'static, E: From<D::Error> + 'static>(
    router: &mut Router,
    mut wanted: D::Wanted,
    answer: impl FnOnce(&mut Router, Made<D>) -> Result<R, D::Error> + 'static,
) -> Result<Pending<Result<R, E>>, E> {
    let begun = router.with(|all: &mut D, router| all.begin(router, &mut wanted));
    let opening = begun.unwrap_or(Err(D::UNKNOWN))?;
    Ok(Pending::new(opening, move |router: &mut Router, opened| {
        let made = router.with(|all: &mut D, router| all.finish(router, wanted, opened));
        Ok(answer(router, made.unwrap_or(Err(D::UNKNOWN)))?)
    }))
}

/// As [`make`], for the command line: the answer is the name of the interface.
pub fn make_named<D: Opens>(
    router: &mut Router,
    wanted: D::Wanted,
) -> Result<Pending<Result<String, cli::Error>>, cli::Error>
where
    cli::Error: From<D::Error>,
{
    make::<D, _, _>(router, wanted, |router, made| Ok(router.interfaces.name(made?.0).to_owned()))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use control::cli::Task;
    use control::log::Log;
    use graph::Settings;

    use super::*;

    #[test]
    fn control_goes_on_while_the_kernel_opens() {
        let settings = Settings { buffers: 64, ..Settings::default() };
        let mut router = Router::new(settings, Log::new()).unwrap();
        let (go, wait) = channel();
        let opening = Background::begin(move || wait.recv().unwrap());
        let finish = |_: &mut Router, opened: io::Result<u32>| Ok(opened.unwrap().to_string());
        let mut making = Pending::<Result<String, cli::Error>>::new(opening, finish);
        let mut out = Output::none();
        for _ in 0..3 {
            assert_eq!(making.step(&mut router, &mut out), Step::Sleep(LOOK));
        }
        go.send(7).unwrap();
        let last = loop {
            match making.step(&mut router, &mut out) {
                Step::Sleep(time) => std::thread::sleep(time),
                last => break last,
            }
        };
        assert_eq!((last, out.to_text().as_str()), (Step::Done(Ok(())), "7\n"));
    }

    #[test]
    fn work_that_fails_is_an_error() {
        let opening = Background::begin(|| panic!("as it would by mistake"));
        let failed: io::Result<()> = loop {
            if let Some(result) = opening.result() {
                break result;
            }
        };
        assert!(failed.is_err());
    }
}
