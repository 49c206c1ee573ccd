package suite

import (
	"os"
	"testing"

	"github.com/go-ldap/ldap/v3"
	"github.com/go-ldap/ldap/v3/gssapi"
	"github.com/jcmturner/gokrb5/v8/client"
)

// TestTicket binds with the ticket of the user whom PANDO_SASL names; Kerberos in Go, without the libraries of the system.
func TestTicket(t *testing.T) {
	user, tickets := os.Getenv("PANDO_SASL"), os.Getenv("PANDO_TICKETS")
	if tickets == "" {
		t.Skip("PANDO_TICKETS says where a ticket is")
	}
	kerberos, err := gssapi.NewClientFromCCache(tickets, os.Getenv("KRB5_CONFIG"), client.DisablePAFXFAST(true))
	if err != nil {
		t.Fatal(err)
	}
	defer kerberos.Close()
	c, err := ldap.DialURL(os.Getenv("PANDO_URL"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.GSSAPIBind(kerberos, "ldap/localhost", ""); err != nil {
		t.Fatal(err)
	}
	who, err := c.WhoAmI(nil)
	if err != nil || who.AuthzID != "dn:uid="+user+","+os.Getenv("PANDO_BASE") {
		t.Fatal(who, err)
	}
}
