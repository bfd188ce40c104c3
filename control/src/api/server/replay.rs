//! Runs recorded or typed requests, as a client of its own.

use std::rc::Rc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::yield_now;
use tokio::time::sleep;

use super::super::dispatch::dispatch;
use super::super::trace::readdress;
use super::super::work::Progress;
use super::Server;
use crate::turn::pause;

/// Runs injected requests until the router ends.
pub(super) async fn run<C: 'static>(server: Server<C>) {
    let injector = server.0.clients.injector();
    loop {
        injector.notified().await;
        let index = server.0.clients.connect("replay".to_owned(), Rc::new(Notify::new()));
        while let Some(request) = server.0.clients.next_injected() {
            carry_out(&server, index, request).await;
            server.0.clients.keep_answers(index);
            yield_now().await;
        }
        server.0.clients.release(index);
    }
}

async fn carry_out<C: 'static>(server: &Server<C>, index: u32, mut request: Vec<u8>) {
    let shared = &server.0;
    let id = request.first_chunk().map(|id| u16::from_be_bytes(*id));
    if let Some(info) = id.and_then(|id| shared.api.info(id)) {
        readdress(info, index, &mut request);
    }
    let answered = dispatch(shared.around(), &mut shared.cx.borrow_mut(), index, &request);
    let mut job = match answered {
        Ok(Some(job)) => job,
        Ok(None) => return,
        Err(why) => return shared.log.warn(why),
    };
    loop {
        let progress = job.step(shared.around(), &mut shared.cx.borrow_mut());
        shared.clients.keep_answers(index);
        match progress {
            Progress::Done => return,
            Progress::Again => yield_now().await,
            Progress::Sleep(time) => sleep(pause(time)).await,
            Progress::Wait => sleep(Duration::from_millis(1)).await,
        }
    }
}
