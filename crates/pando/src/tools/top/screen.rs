//! The screen of a terminal while something is drawn on it again and again: keys come one by one and unseen, and at the
//! end it is as it was.

use std::io::{self, Read, Write};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, bounded};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

use crate::failure::{Context, Failure};

/// The other screen, cleared, without a cursor; and back.
const BEGIN: &str = "\x1b[?1049h\x1b[?25l\x1b[2J";
const END: &str = "\x1b[?25h\x1b[?1049l";
/// Rows and columns of a terminal that does not say.
const SIZE: (usize, usize) = (24, 80);

/// See the module.
pub struct Screen {
    before: Termios,
    keys: Receiver<u8>,
}

impl Screen {
    /// Takes the terminal over.
    pub fn open() -> Result<Screen, Failure> {
        let before = tcgetattr(io::stdin()).context("terminal")?;
        let mut raw = before.clone();
        // Ctrl-C is a key, too: the screen is given back before the tool ends.
        raw.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
        tcsetattr(io::stdin(), OptionalActions::Now, &raw).context("terminal")?;
        let (send, keys) = bounded(16);
        std::thread::spawn(move || {
            let mut key = [0];
            while io::stdin().read_exact(&mut key).is_ok() && send.send(key[0]).is_ok() {}
        });
        let screen = Screen { before, keys };
        screen.write(BEGIN)?;
        Ok(screen)
    }

    /// Draws lines over what was there; what does not fit is left out. The last row is for `foot`.
    pub fn draw(&self, lines: &[String], foot: &str) -> Result<(), Failure> {
        let size = tcgetwinsize(io::stdout()).ok().map(|size| (usize::from(size.ws_row), usize::from(size.ws_col)));
        let (rows, columns) = size.filter(|(rows, columns)| *rows > 0 && *columns > 0).unwrap_or(SIZE);
        let cut = |line: &str| line.chars().take(columns).collect::<String>();
        let mut text = "\x1b[H".to_owned();
        for line in lines.iter().take(rows.saturating_sub(1)) {
            text += &format!("{}\x1b[K\r\n", cut(line));
        }
        text += &format!("\x1b[J\x1b[{rows};1H\x1b[7m{}\x1b[0m\x1b[K", cut(foot));
        self.write(&text)
    }

    /// The next key, if one comes within that time. The end of the keys is `q`.
    pub fn key(&self, within: Duration) -> Option<u8> {
        match self.keys.recv_timeout(within) {
            Ok(key) => Some(key),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(b'q'),
        }
    }

    fn write(&self, text: &str) -> Result<(), Failure> {
        let mut out = io::stdout();
        out.write_all(text.as_bytes()).and_then(|()| out.flush()).context("terminal")
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // Nothing can be done about a terminal that is gone.
        let _ = self.write(END);
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}
