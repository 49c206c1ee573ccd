//! What lines are read from: a file or standard input, compressed or not, as its first bytes say.

use std::fs::File;
use std::io::{self, BufReader, Cursor, ErrorKind, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Where standard input is meant.
pub const STANDARD_INPUT: &str = "-";

/// Opens a file, or standard input for `-`.
///
/// # Errors
/// When it cannot be read.
pub fn open(path: &Path) -> io::Result<Box<dyn Read>> {
    if path.as_os_str() == STANDARD_INPUT {
        return decompressed(io::stdin());
    }
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(io::Error::new(ErrorKind::IsADirectory, "it is a folder: name the files in it"));
    }
    decompressed(file)
}

/// The bytes of a source, decompressed if they are gzip or zstd.
///
/// # Errors
/// Those of the source.
pub fn decompressed(mut source: impl Read + 'static) -> io::Result<Box<dyn Read>> {
    let mut head = Vec::new();
    Read::take(&mut source, ZSTD.len() as u64).read_to_end(&mut head)?;
    let (is_gzip, is_zstd) = (head.starts_with(&GZIP), head.starts_with(&ZSTD));
    let whole = Cursor::new(head).chain(source);
    Ok(if is_gzip {
        Box::new(MultiGzDecoder::new(BufReader::with_capacity(1 << 16, whole)))
    } else if is_zstd {
        Box::new(zstd::stream::read::Decoder::new(whole)?)
    } else {
        Box::new(whole)
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    const TEXT: &str = "one\ntwo\n";

    fn read(bytes: &[u8]) -> io::Result<String> {
        let mut text = String::new();
        decompressed(Cursor::new(bytes.to_vec()))?.read_to_string(&mut text)?;
        Ok(text)
    }

    #[test]
    fn compressed_sources_are_read_as_plain_ones() {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(TEXT.as_bytes()).unwrap();
        let gzip = gzip.finish().unwrap();
        let zstd = zstd::encode_all(TEXT.as_bytes(), 1).unwrap();
        for bytes in [TEXT.as_bytes(), &gzip, &zstd] {
            assert_eq!(read(bytes).unwrap(), TEXT);
            if bytes != TEXT.as_bytes() {
                assert_eq!(read(&[bytes, bytes].concat()).unwrap(), [TEXT, TEXT].concat());
                assert!(read(&bytes[..bytes.len() - 3]).is_err(), "a compressed file that was cut");
            }
        }
        assert_eq!(read(b"").unwrap(), "");
        assert_eq!(read(&GZIP[..1]).unwrap(), "\u{1f}", "one byte is no archive");
    }

    #[test]
    fn folders_are_no_logs() {
        assert!(open(Path::new("/")).err().unwrap().to_string().contains("folder"));
        assert!(open(Path::new("/nonexistent")).is_err());
    }
}
