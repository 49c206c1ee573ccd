package suite

import (
	"crypto/tls"
	"os"
	"testing"

	"github.com/go-ldap/ldap/v3"
)

// TestSasl binds with the certificate of the user whom PANDO_SASL names; the server maps its subject.
func TestSasl(t *testing.T) {
	user := os.Getenv("PANDO_SASL")
	if user == "" {
		t.Skip("PANDO_SASL says whose certificate there is")
	}
	certificate, err := tls.LoadX509KeyPair(os.Getenv("PANDO_SASL_CERT"), os.Getenv("PANDO_SASL_KEY"))
	if err != nil {
		t.Fatal(err)
	}
	with := &tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{certificate}}
	without := &tls.Config{InsecureSkipVerify: true}
	starting, err := ldap.DialURL(os.Getenv("PANDO_URL"))
	if err != nil {
		t.Fatal(err)
	}
	if err := starting.StartTLS(with); err != nil {
		t.Fatal(err)
	}
	secured, err := ldap.DialURL(os.Getenv("PANDO_TLS_URL"), ldap.DialWithTLSConfig(with))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []*ldap.Conn{starting, secured} {
		defer c.Close()
		if err := c.ExternalBind(); err != nil {
			t.Fatal(err)
		}
		who, err := c.WhoAmI(nil)
		if err != nil || who.AuthzID != "dn:uid="+user+","+os.Getenv("PANDO_BASE") {
			t.Fatal(who, err)
		}
		wantCode(t, c.NTLMBind("EXAMPLE", user, os.Getenv("PANDO_SASL_PW")), ldap.LDAPResultAuthMethodNotSupported)
		wantCode(t, c.MD5Bind("localhost", user, os.Getenv("PANDO_SASL_PW")), ldap.LDAPResultAuthMethodNotSupported)
	}
	bare, err := ldap.DialURL(os.Getenv("PANDO_TLS_URL"), ldap.DialWithTLSConfig(without))
	if err != nil {
		t.Fatal(err)
	}
	defer bare.Close()
	wantCode(t, bare.ExternalBind(), ldap.LDAPResultInvalidCredentials)
}
