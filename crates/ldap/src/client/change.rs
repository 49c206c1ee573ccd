//! Requests from LDIF change records.

use ber::Writer;

use super::{add_op, modify_op, tags};
use crate::controls::ControlBuf;
use crate::encode::message;
use crate::ldif::{LdifChange, LdifOperation};

/// The request that a change record stands for: with the record's controls, and these.
pub fn change(out: &mut Vec<u8>, id: i32, change: &LdifChange, controls: &[ControlBuf]) {
    let controls = [change.controls.as_slice(), controls].concat();
    message(out, id, &controls, |w| change_op(w, change));
}

/// The operation of [`change()`].
pub fn change_op(w: &mut Writer<'_>, change: &LdifChange) {
    let dn = change.dn.as_str();
    match &change.operation {
        LdifOperation::Add(lines) => {
            // Lines of one attribute need not stand together.
            let mut attributes: Vec<(&[u8], Vec<&[u8]>)> = Vec::new();
            for line in lines.iter() {
                match attributes.iter_mut().find(|(name, _)| name.eq_ignore_ascii_case(line.description)) {
                    Some((_, values)) => values.push(line.value),
                    None => attributes.push((line.description, vec![line.value])),
                }
            }
            add_op(w, dn.as_bytes(), attributes);
        }
        LdifOperation::Delete => w.octets(tags::DELETE, dn.as_bytes()),
        LdifOperation::Modify(modifications) => {
            let changes = modifications
                .iter()
                .map(|own| (own.operation, own.description.as_bytes(), own.values.iter().map(Vec::as_slice)));
            modify_op(w, dn.as_bytes(), changes);
        }
        LdifOperation::ModifyDn { new_rdn, delete_old_rdn, new_superior } => {
            super::modify_dn_op(w, dn, new_rdn, *delete_old_rdn, new_superior.as_deref());
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::ldif::{Record, UrlValues};
    use crate::{EntryRequest, Message, Operation, Update};

    fn request(text: &str) -> (Vec<u8>, usize) {
        let Ok(Some(Record::Change(change))) = Record::parse(text.as_bytes(), 1, UrlValues::Refuse) else {
            panic!("{text}")
        };
        let mut out = Vec::new();
        super::change(&mut out, 7, &change, &[]);
        let controls = Message::decode(&out).unwrap().controls.iter().count();
        (out, controls)
    }

    fn asked(bytes: &[u8]) -> EntryRequest<'_> {
        let Operation::Update(Update::Entry(update)) = Message::decode(bytes).unwrap().operation else { panic!() };
        *update.request()
    }

    #[test]
    fn records_become_requests() {
        let (bytes, controls) = request(
            "dn: cn=a\ncontrol: 1.2.840.113556.1.4.1413 true\nchangetype: modify\nadd: sn\nsn: b\nsn: c\n-\ndelete: x\n\
             -\n",
        );
        assert_eq!(controls, 1);
        let EntryRequest::Modify(modify) = asked(&bytes) else { panic!() };
        let changes: Vec<_> =
            modify.changes.iter().map(|it| (it.operation, it.attribute.values.iter().count())).collect();
        assert_eq!(changes, [(crate::ModifyOperation::Add, 2), (crate::ModifyOperation::Delete, 0)]);

        let (bytes, _) = request("dn: cn=a\nchangetype: add\nobjectClass: top\ncn: a\nOBJECTCLASS: person\n");
        let EntryRequest::Add(add) = asked(&bytes) else { panic!() };
        let attributes: Vec<_> = add.attributes.iter().map(|it| it.values.iter().count()).collect();
        assert_eq!((add.entry, attributes), (&b"cn=a"[..], vec![2, 1]));

        let (bytes, _) = request("dn: cn=a\nchangetype: delete\n");
        assert!(matches!(asked(&bytes), EntryRequest::Delete(b"cn=a")));

        let (bytes, _) = request("dn: cn=a\nchangetype: modrdn\nnewrdn: cn=b\ndeleteoldrdn: 1\nnewsuperior: dc=c\n");
        let EntryRequest::ModifyDn(rename) = asked(&bytes) else { panic!() };
        assert_eq!(
            (rename.new_rdn, rename.delete_old_rdn, rename.new_superior),
            (&b"cn=b"[..], true, Some(&b"dc=c"[..]))
        );
    }
}
