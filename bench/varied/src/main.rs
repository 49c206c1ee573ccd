//! Adds and deletes of people who differ in every indexed attribute, which is where scattered index pages hurt.
//!
//! The load generator that compares servers adds one person again and again under other uids; this one draws names,
//! numbers and addresses anew for each entry and keeps every entry alive for a while, so that a server cannot cancel an
//! add against its delete before either has reached the disk. One thread a connection, one request outstanding on each.
//!
//!     varied --port 1389 --bind-dn "cn=Directory Manager" --bind-pw secret12 [--connections 8] [--seconds 60]
//!            [--keep 2000] [--rate 0] [--pid PID] [--seed 1]
//!
//! `--keep` is how many entries each connection leaves alive before it deletes its oldest; `--rate` bounds the
//! operations a second over all connections (0: closed loop). Prints one line of JSON.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

const BASE: &str = "ou=People,dc=example,dc=com";

#[derive(Clone)]
struct Options {
    port: u16,
    bind_dn: String,
    bind_pw: String,
    connections: u64,
    seconds: f64,
    keep: usize,
    rate: f64,
    pid: Option<u32>,
    seed: u64,
}

fn main() {
    let options = parse_options();
    let before = options.pid.map(cpu_us);
    let start = Instant::now();
    let workers: Vec<_> = (0..options.connections)
        .map(|n| {
            std::thread::spawn({
                let o = options.clone();
                move || Worker::new(o, n).run(start)
            })
        })
        .collect();
    let mut latencies = Vec::new();
    let mut refused = 0;
    for worker in workers {
        let (l, r) = worker.join().expect("a worker does not panic");
        latencies.extend(l);
        refused += r;
    }
    let seconds = start.elapsed().as_secs_f64();
    let cpu = options.pid.map(cpu_us).zip(before).map(|(b, a)| (b - a) as f64 / latencies.len().max(1) as f64);
    latencies.sort_unstable();
    let at = |q: f64| {
        latencies
            .get(((latencies.len() as f64 * q) as usize).min(latencies.len().saturating_sub(1)))
            .copied()
            .unwrap_or(0)
    };
    println!(
        "{{\"ops\":{},\"seconds\":{seconds:.1},\"ops_per_s\":{:.0},\"refused\":{refused},\"p50_us\":{},\"p99_us\":{},\
         \"p999_us\":{},\"max_us\":{},\"server_cpu_us_per_op\":{}}}",
        latencies.len(),
        latencies.len() as f64 / seconds,
        at(0.5),
        at(0.99),
        at(0.999),
        at(1.0),
        cpu.map_or("null".into(), |c| format!("{c:.1}")),
    );
}

fn parse_options() -> Options {
    let mut o = Options {
        port: 1389,
        bind_dn: "cn=Directory Manager".into(),
        bind_pw: String::new(),
        connections: 8,
        seconds: 60.0,
        keep: 2000,
        rate: 0.0,
        pid: None,
        seed: 1,
    };
    let mut words = std::env::args().skip(1);
    while let Some(flag) = words.next() {
        let value = words.next().unwrap_or_else(|| die(&format!("{flag} needs a value")));
        let number = || value.parse::<f64>().unwrap_or_else(|_| die(&format!("{flag} takes a number, not {value}")));
        match flag.as_str() {
            "--port" => o.port = number() as u16,
            "--bind-dn" => o.bind_dn = value,
            "--bind-pw" => o.bind_pw = value,
            "--connections" => o.connections = number() as u64,
            "--seconds" => o.seconds = number(),
            "--keep" => o.keep = number() as usize,
            "--rate" => o.rate = number(),
            "--pid" => o.pid = Some(number() as u32),
            "--seed" => o.seed = number() as u64,
            _ => die(&format!("unknown option {flag}")),
        }
    }
    o
}

fn die(message: &str) -> ! {
    eprintln!("varied: {message}");
    std::process::exit(2)
}

/// utime + stime of the process in microseconds (100 ticks a second on Linux).
fn cpu_us(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_else(|_| die("no such process"));
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    (fields[11].parse::<u64>().unwrap_or(0) + fields[12].parse::<u64>().unwrap_or(0)) * 10_000
}

struct Worker {
    options: Options,
    number: u64,
    random: u64,
    stream: TcpStream,
    next: u64,
    alive: VecDeque<String>,
}

impl Worker {
    fn new(options: Options, number: u64) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", options.port)).unwrap_or_else(|e| die(&format!("connect: {e}")));
        stream.set_nodelay(true).ok();
        let random = (options.seed << 32 | number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut worker = Self { options, number, random, stream, next: 0, alive: VecDeque::new() };
        let mut bind = vec![2, 1, 3];
        tlv(&mut bind, 0x04, worker.options.bind_dn.as_bytes());
        tlv(&mut bind, 0x80, worker.options.bind_pw.as_bytes());
        if worker.request(0x60, &bind) != 0 {
            die("the bind was refused");
        }
        worker
    }

    /// Latencies in microseconds and the number of refused operations.
    fn run(mut self, start: Instant) -> (Vec<u64>, u64) {
        let (mut latencies, mut refused) = (Vec::new(), 0);
        let pace = (self.options.rate > 0.0)
            .then(|| Duration::from_secs_f64(self.options.connections as f64 / self.options.rate));
        let end = start + Duration::from_secs_f64(self.options.seconds);
        let mut due = start;
        while Instant::now() < end {
            if let Some(pace) = pace {
                due += pace;
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
            }
            let from = if pace.is_some() { due } else { Instant::now() };
            let code =
                if self.alive.len() < self.options.keep || self.next % 2 == 0 { self.add() } else { self.delete() };
            self.next += 1;
            latencies.push(from.elapsed().as_micros() as u64);
            refused += u64::from(code != 0);
        }
        while !self.alive.is_empty() {
            self.delete();
        }
        (latencies, refused)
    }

    fn add(&mut self) -> u8 {
        let uid = format!("varied.{}.{}.{}", self.options.seed, self.number, self.next);
        let dn = format!("uid={uid},{BASE}");
        let (given, surname) = (self.name(), self.name());
        let phone = format!("+1 {:03} {:03} {:04}", self.below(1000), self.below(1000), self.below(10_000));
        let mut attributes = Vec::new();
        for (name, value) in [
            ("objectClass", "inetOrgPerson"),
            ("uid", &uid),
            ("cn", &format!("{given} {surname}")),
            ("sn", &surname),
            ("givenName", &given),
            ("mail", &format!("{given}.{surname}.{}@example.com", self.next)),
            ("telephoneNumber", &phone),
            ("employeeNumber", &self.next.to_string()),
            ("userPassword", "{SSHA}0c0blFTXXNuAMHECS4uxrj3ZieMoWImr"),
            ("l", "Grove"),
            ("description", &format!("Added for {given}")),
        ] {
            let mut attribute = Vec::new();
            tlv(&mut attribute, 0x04, name.as_bytes());
            let mut values = Vec::new();
            tlv(&mut values, 0x04, value.as_bytes());
            tlv(&mut attribute, 0x31, &values);
            tlv(&mut attributes, 0x30, &attribute);
        }
        let mut add = Vec::new();
        tlv(&mut add, 0x04, dn.as_bytes());
        tlv(&mut add, 0x30, &attributes);
        let code = self.request(0x68, &add);
        if code == 0 {
            self.alive.push_back(dn);
        }
        code
    }

    fn delete(&mut self) -> u8 {
        let dn = self.alive.pop_front().unwrap_or_default();
        self.request(0x4a, dn.as_bytes())
    }

    /// Sends one request and gives the result code of its answer.
    fn request(&mut self, tag: u8, body: &[u8]) -> u8 {
        let mut content = vec![2, 1, 1];
        tlv(&mut content, tag, body);
        let mut message = Vec::new();
        tlv(&mut message, 0x30, &content);
        self.stream.write_all(&message).unwrap_or_else(|e| die(&format!("send: {e}")));
        let mut answer = [0u8; 4096];
        let got = self.stream.read(&mut answer).unwrap_or_else(|e| die(&format!("receive: {e}")));
        // LDAPMessage, message id of one byte, operation tag and length, ENUMERATED of one byte.
        match answer[..got].windows(3).find(|w| w[0] == 0x0a && w[1] == 1) {
            Some(w) => w[2],
            None => die("the answer has no result code"),
        }
    }

    /// xorshift64*
    fn below(&mut self, bound: u64) -> u64 {
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        (self.random.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % bound
    }

    /// A made-up name of two to four syllables; some 160,000 of them.
    fn name(&mut self) -> String {
        const SYLLABLES: [&str; 20] = [
            "al", "ber", "cor", "dan", "el", "fir", "gor", "hal", "in", "jor", "ka", "lu", "mor", "ne", "or", "pel",
            "ri", "sol", "ta", "wen",
        ];
        let mut name = String::new();
        for _ in 0..2 + self.below(3) {
            name += SYLLABLES[self.below(20) as usize];
        }
        name[..1].make_ascii_uppercase();
        name
    }
}

fn tlv(out: &mut Vec<u8>, tag: u8, value: &[u8]) {
    out.push(tag);
    match value.len() {
        n @ 0..0x80 => out.push(n as u8),
        n @ 0x80..0x100 => out.extend([0x81, n as u8]),
        n => out.extend([0x82, (n >> 8) as u8, n as u8]),
    }
    out.extend_from_slice(value);
}
