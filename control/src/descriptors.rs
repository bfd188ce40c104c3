//! Descriptors that control waits for (epoll(7)): sockets of peers and event counters, each with
//! the number of the process that reads it. Arrivals are reported once (edge-triggered), so a
//! process reads until nothing is left. An alarm is one of them (timerfd_create(2)): the event
//! loop's own timers wake it several times for each that is more than 64 ms away.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};

/// Descriptors that are ready, taken at a time.
const MOST: usize = 64;
/// Number of the alarm.
const ALARM: u64 = u64::MAX;

/// All descriptors of one main loop.
#[derive(Debug)]
pub(crate) struct Descriptors {
    poll: OwnedFd,
    alarm: OwnedFd,
}

impl Descriptors {
    /// None yet.
    ///
    /// # Errors
    /// The kernel's.
    pub fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let alarm = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        let all = Self { poll: epoll::create(epoll::CreateFlags::CLOEXEC)?, alarm };
        all.add(all.alarm.as_fd(), ALARM)?;
        Ok(all)
    }
    /// Makes all of them readable after a time, unless another one is set before.
    ///
    /// # Errors
    /// The kernel's.
    pub fn set_alarm(&self, after: Duration) -> io::Result<()> {
        // No time at all would be no alarm.
        let after = after.max(Duration::from_nanos(1));
        let none = Timespec::default();
        let at = Timespec { tv_sec: after.as_secs() as i64, tv_nsec: after.subsec_nanos().into() };
        let time = Itimerspec { it_interval: none, it_value: at };
        timerfd_settime(&self.alarm, TimerfdTimerFlags::empty(), &time)?;
        Ok(())
    }
    /// Adds one until it is closed. One that already exists has the number from now on: so a copy
    /// of a descriptor that lives on may be added again under the number of one that was closed.
    ///
    /// # Errors
    /// The kernel's: it cannot be waited for.
    pub fn add(&self, descriptor: BorrowedFd<'_>, number: u64) -> io::Result<()> {
        let data = epoll::EventData::new_u64(number);
        let when = epoll::EventFlags::IN | epoll::EventFlags::ET;
        match epoll::add(&self.poll, descriptor, data, when) {
            Err(Errno::EXIST) => Ok(epoll::modify(&self.poll, descriptor, data, when)?),
            done => Ok(done?),
        }
    }
    /// Numbers of those at which something has come since they were asked for last.
    pub fn ready(&self) -> Vec<u64> {
        let mut numbers = Vec::new();
        let mut events = Vec::with_capacity(MOST);
        loop {
            events.clear();
            let at_once = Timespec::default();
            let got = epoll::wait(&self.poll, spare_capacity(&mut events), Some(&at_once));
            let all = events.iter().map(|event: &epoll::Event| event.data.u64());
            numbers.extend(all.filter(|number| *number != ALARM));
            if got.is_ok_and(|count| count < MOST) || got.is_err() {
                return numbers;
            }
        }
    }
}

impl AsFd for Descriptors {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.poll.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::net::{UnixListener, UnixStream};

    use super::*;

    #[test]
    fn each_arrival_is_told_once_until_the_descriptor_is_closed() {
        let all = Descriptors::new().unwrap();
        let (mut here, mut there) = UnixStream::pair().unwrap();
        all.add(here.as_fd(), 8).unwrap();
        all.add(here.as_fd(), 7).unwrap();
        assert!(all.ready().is_empty());
        there.write_all(&[1]).unwrap();
        assert_eq!([all.ready(), all.ready()], [vec![7], vec![]]);
        there.write_all(&[2]).unwrap();
        assert_eq!(all.ready(), [7], "the first byte is still there");
        here.read_exact(&mut [0; 2]).unwrap();
        drop(there);
        assert_eq!([all.ready(), all.ready()], [vec![7], vec![]], "the other end is gone");
        drop(here);
        assert!(all.ready().is_empty());
    }

    #[test]
    fn a_copy_of_what_was_closed_may_be_added_again() {
        let all = Descriptors::new().unwrap();
        let (here, mut there) = UnixStream::pair().unwrap();
        let copy = here.try_clone().unwrap();
        all.add(copy.as_fd(), 1).unwrap();
        drop(copy);
        // The lowest number that is free: that of the first copy, unless another test took it.
        let copy = here.try_clone().unwrap();
        all.add(copy.as_fd(), 2).unwrap();
        there.write_all(&[1]).unwrap();
        assert!(all.ready().contains(&2));
    }

    #[test]
    fn an_alarm_is_of_nobody() {
        let all = Descriptors::new().unwrap();
        let is_ready = |patience: i64| {
            let mut look = [rustix::event::PollFd::new(&all, rustix::event::PollFlags::IN)];
            let patience = Timespec { tv_sec: patience, tv_nsec: 0 };
            rustix::event::poll(&mut look, Some(&patience)).unwrap() > 0
        };
        all.set_alarm(Duration::from_secs(100)).unwrap();
        assert!(!is_ready(0));
        for after in [Duration::ZERO, Duration::from_millis(1)] {
            all.set_alarm(after).unwrap();
            assert!(is_ready(20) && all.ready().is_empty() && !is_ready(0));
        }
    }

    #[test]
    fn more_than_one_look_takes_are_told() {
        let all = Descriptors::new().unwrap();
        let path = std::env::temp_dir().join(format!("descriptors-{}", std::process::id()));
        let listener = UnixListener::bind(&path).unwrap();
        all.add(listener.as_fd(), 1000).unwrap();
        let pairs: Vec<_> = (0..150).map(|_| UnixStream::pair().unwrap()).collect();
        for (number, (here, there)) in (0..).zip(&pairs) {
            all.add(here.as_fd(), number).unwrap();
            (&mut &*there).write_all(&[1]).unwrap();
        }
        let _connected = UnixStream::connect(&path).unwrap();
        let mut numbers = all.ready();
        numbers.sort_unstable();
        let expected: Vec<_> = (0..150).chain([1000]).collect();
        assert_eq!(numbers, expected);
        std::fs::remove_file(path).unwrap();
    }
}
