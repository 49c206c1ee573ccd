package pando;

import static org.junit.jupiter.api.Assertions.*;
import static pando.UnboundIdTest.*;

import com.unboundid.ldap.sdk.GSSAPIBindRequest;
import com.unboundid.ldap.sdk.GSSAPIBindRequestProperties;
import com.unboundid.ldap.sdk.LDAPConnection;
import java.security.PrivilegedExceptionAction;
import java.util.Hashtable;
import javax.naming.Context;
import javax.naming.ldap.InitialLdapContext;
import javax.naming.ldap.LdapContext;
import javax.security.auth.Subject;
import javax.security.auth.login.LoginContext;
import org.junit.jupiter.api.*;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;

/** Java's own LDAP and the UnboundID SDK with the ticket of the user whom PANDO_SASL names. */
@EnabledIfEnvironmentVariable(named = "PANDO_KRB5_CONF", matches = ".+")
class KerberosTest {
  @Test
  void aTicketOfJava() throws Exception {
    System.setProperty("java.security.krb5.conf", System.getenv("PANDO_KRB5_CONF"));
    System.setProperty("java.security.auth.login.config", System.getenv("PANDO_JAAS_CONF"));
    LoginContext login = new LoginContext("pando");
    login.login();
    Hashtable<String, String> environment = new Hashtable<>();
    environment.put(Context.INITIAL_CONTEXT_FACTORY, "com.sun.jndi.ldap.LdapCtxFactory");
    environment.put(Context.PROVIDER_URL, "ldap://localhost:" + PORT);
    environment.put(Context.SECURITY_AUTHENTICATION, "GSSAPI");
    String dn = "uid=" + System.getenv("PANDO_SASL") + "," + BASE;
    PrivilegedExceptionAction<Object> look = () -> {
      LdapContext context = new InitialLdapContext(environment, null);
      try {
        return context.getAttributes(dn, new String[] {"uid"}).get("uid").get();
      } finally {
        context.close();
      }
    };
    assertEquals(System.getenv("PANDO_SASL"), Subject.doAs(login.getSubject(), look));
  }

  @Test
  void aTicketOfTheUnboundIdSdk() throws Exception {
    System.setProperty("java.security.krb5.conf", System.getenv("PANDO_KRB5_CONF"));
    System.setProperty("java.security.auth.login.config", System.getenv("PANDO_JAAS_CONF"));
    GSSAPIBindRequestProperties ticket = new GSSAPIBindRequestProperties(System.getenv("PANDO_SASL"), (String) null);
    // In one process there is one configuration of logins.
    ticket.setConfigFilePath(System.getenv("PANDO_JAAS_CONF"));
    try (LDAPConnection connection = new LDAPConnection("localhost", PORT)) {
      SaslTest.binds(connection, new GSSAPIBindRequest(ticket));
    }
  }
}
