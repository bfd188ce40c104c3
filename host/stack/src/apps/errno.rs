//! Error numbers that programs get for errors of the session layer.

use rustix::io::Errno;

use crate::control::Error as ControlError;
use crate::data::apps::Error;
use crate::data::session::Failure;

/// Error number of a refused request, negative as in messages.
pub fn of_error(why: &Error) -> i32 {
    -match why {
        Error::InUse(_) | Error::Taken(_) => Errno::ADDRINUSE,
        Error::NoAddress(_) | Error::NoPort(_) => Errno::ADDRNOTAVAIL,
        Error::Refused(_) | Error::Filtered(_) => Errno::CONNREFUSED,
        Error::TooManyListeners | Error::Kernel(_) => Errno::NOMEM,
        Error::Control(ControlError::WrongSecret(_)) => Errno::ACCESS,
        Error::Control(ControlError::NoNamespace(_)) => Errno::NOENT,
        Error::NoApp(_) | Error::NoListener(_) => Errno::BADFD,
        _ => Errno::INVAL,
    }
    .raw_os_error()
}

/// Error number of the end of a session.
pub fn of_failure(why: Failure) -> u16 {
    let errno = match why {
        Failure::Refused | Failure::Filtered => Errno::CONNREFUSED,
        Failure::TimedOut => Errno::TIMEDOUT,
        Failure::Reset => Errno::CONNRESET,
        Failure::Unreachable => Errno::HOSTUNREACH,
        Failure::Full => Errno::NOMEM,
        Failure::NoPort => Errno::ADDRNOTAVAIL,
        Failure::Withdrawn => Errno::CONNABORTED,
    };
    errno.raw_os_error() as u16
}
