//! Closing and duplicating of descriptors: the table follows.

use std::ffi::{c_int, c_uint, c_ulong, c_void};

use super::super::table::{self, flag};
use super::sockets::{export, is_ours};
use super::{packets, real};

/// Ends the entry of a descriptor.
fn forget(fd: c_int) {
    if let Some(entry) = table::own(fd)
        && is_ours()
    {
        entry.end();
    }
}

/// Gives a duplicate its entry.
fn duplicate(old: c_int, new: c_int) {
    if let (Some(from), Some(to)) = (table::at(old), table::at(new))
        && old != new
        && (from.flags() | to.flags() != 0)
        && is_ours()
    {
        from.copy(to);
    }
}

/// Ends the entries of a range.
fn forget_range(first: c_uint, last: c_uint) {
    let last = last.min(table::MOST as u32 - 1);
    (first..=last).for_each(|fd| forget(fd.cast_signed()));
}

fn after_fcntl(fd: c_int, command: c_int, result: c_int) -> c_int {
    if result >= 0 && (command == libc::F_DUPFD || command == libc::F_DUPFD_CLOEXEC) {
        duplicate(fd, result);
    }
    result
}

export! {
    /// close(2).
    fn close(fd: c_int) -> c_int {
        forget(fd);
        // SAFETY: it has no pointers.
        unsafe { real::close(fd) }
    }
    /// dup(2).
    fn dup(fd: c_int) -> c_int {
        // SAFETY: it has no pointers.
        let new = unsafe { real::dup(fd) };
        duplicate(fd, new);
        new
    }
    /// dup2(2).
    fn dup2(fd: c_int, to: c_int) -> c_int {
        // SAFETY: it has no pointers.
        let new = unsafe { real::dup2(fd, to) };
        duplicate(fd, new);
        new
    }
    /// dup3(2).
    fn dup3(fd: c_int, to: c_int, flags: c_int) -> c_int {
        // SAFETY: it has no pointers.
        let new = unsafe { real::dup3(fd, to, flags) };
        duplicate(fd, new);
        new
    }
    /// fcntl(2): its third argument, if there is one, is a number or a pointer.
    fn fcntl(fd: c_int, command: c_int, argument: c_ulong) -> c_int {
        // SAFETY: the program's arguments, passed on; one that is missing is not looked at.
        after_fcntl(fd, command, unsafe { real::fcntl(fd, command, argument) })
    }
    /// The same with large offsets.
    fn fcntl64(fd: c_int, command: c_int, argument: c_ulong) -> c_int {
        // SAFETY: as above.
        after_fcntl(fd, command, unsafe { real::fcntl64(fd, command, argument) })
    }
    /// ioctl(2): the length of the next datagram has no header.
    fn ioctl(fd: c_int, request: c_ulong, argument: *mut c_void) -> c_int {
        if request == libc::FIONREAD && table::flags(fd) & flag::DATAGRAM != 0 {
            let len = packets::waiting(fd).unwrap_or(0) as c_int;
            if !argument.is_null() {
                // SAFETY: not null, so it points to a number, by the module's contract.
                unsafe { argument.cast::<c_int>().write_unaligned(len) }
            }
            return 0;
        }
        // SAFETY: the program's arguments, passed on.
        unsafe { real::ioctl(fd, request, argument) }
    }
    /// close_range(2).
    fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int {
        if flags.cast_unsigned() & libc::CLOSE_RANGE_CLOEXEC == 0 {
            forget_range(first, last);
        }
        // SAFETY: it has no pointers.
        unsafe { real::close_range(first, last, flags) }
    }
    /// closefrom(3).
    fn closefrom(first: c_int) -> () {
        // SAFETY: it has no pointers.
        unsafe { close_range(first.max(0).unsigned_abs(), c_uint::MAX, 0) };
    }
}
