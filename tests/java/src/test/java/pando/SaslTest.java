package pando;

import static org.junit.jupiter.api.Assertions.*;
import static pando.UnboundIdTest.*;

import com.unboundid.ldap.sdk.*;
import com.unboundid.ldap.sdk.extensions.*;
import com.unboundid.util.ssl.*;
import java.util.Hashtable;
import java.util.Map;
import javax.naming.AuthenticationException;
import javax.naming.Context;
import javax.naming.ldap.InitialLdapContext;
import javax.naming.ldap.LdapContext;
import javax.naming.ldap.StartTlsRequest;
import javax.naming.ldap.StartTlsResponse;
import javax.net.ssl.SSLSocketFactory;
import org.junit.jupiter.api.*;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;

/** SASL of the UnboundID SDK and of Java's own LDAP, as the user whom PANDO_SASL names. */
@EnabledIfEnvironmentVariable(named = "PANDO_SASL", matches = ".+")
class SaslTest {
  static final String USER = System.getenv("PANDO_SASL"), PASSWORD = System.getenv("PANDO_SASL_PW");
  static final String DN = "uid=" + USER + "," + BASE;
  static final int TLS_PORT = Integer.parseInt(System.getenv("PANDO_TLS_PORT"));

  static SSLSocketFactory tls(boolean withCertificate) throws Exception {
    if (!withCertificate) return new SSLUtil(new TrustAllTrustManager()).createSSLSocketFactory();
    char[] pin = System.getenv("PANDO_SASL_KEY_STORE_PW").toCharArray();
    KeyStoreKeyManager key = new KeyStoreKeyManager(System.getenv("PANDO_SASL_KEY_STORE"), pin, "PKCS12", null);
    return new SSLUtil(key, new TrustAllTrustManager()).createSSLSocketFactory();
  }

  static void binds(LDAPConnection connection, BindRequest request) throws Exception {
    assertEquals(ResultCode.SUCCESS, connection.bind(request).getResultCode());
    WhoAmIExtendedResult who = (WhoAmIExtendedResult) connection.processExtendedOperation(new WhoAmIExtendedRequest());
    assertEquals("dn:" + DN, who.getAuthorizationID());
  }

  static void refused(LDAPConnection connection, BindRequest request) {
    LDAPException refusal = assertThrows(LDAPException.class, () -> connection.bind(request));
    assertEquals(ResultCode.INVALID_CREDENTIALS, refusal.getResultCode());
  }

  @Test
  void scramWithAndWithoutTls() throws Exception {
    for (boolean secured : new boolean[] {false, true}) {
      try (LDAPConnection c = secured ? new LDAPConnection(tls(false), "127.0.0.1", TLS_PORT) : new LDAPConnection("127.0.0.1", PORT)) {
        binds(c, new SCRAMSHA1BindRequest(USER, new com.unboundid.asn1.ASN1OctetString(PASSWORD).stringValue()));
        binds(c, new SCRAMSHA256BindRequest(USER, PASSWORD));
        binds(c, new SCRAMSHA512BindRequest(USER, PASSWORD));
        refused(c, new SCRAMSHA256BindRequest(USER, "wrong"));
        refused(c, new SCRAMSHA512BindRequest("nobody", PASSWORD));
      }
    }
  }

  @Test
  void plainExternalAndTokens() throws Exception {
    try (LDAPConnection c = new LDAPConnection(tls(true), "127.0.0.1", TLS_PORT)) {
      binds(c, new PLAINBindRequest("u:" + USER, PASSWORD));
      binds(c, new PLAINBindRequest("dn:" + DN, PASSWORD));
      refused(c, new PLAINBindRequest("u:" + USER, "wrong"));
      binds(c, new EXTERNALBindRequest());
      binds(c, new EXTERNALBindRequest("dn:" + DN));
      binds(c, new OAUTHBEARERBindRequest(System.getenv("PANDO_SASL_TOKEN")));
      refused(c, new OAUTHBEARERBindRequest(System.getenv("PANDO_SASL_STRANGE_TOKEN")));
    }
  }

  /** Java's own client: the mechanism is chosen by its name. */
  static void naming(boolean withCertificate, Map<String, String> settings) throws Exception {
    Hashtable<String, String> environment = new Hashtable<>();
    environment.put(Context.INITIAL_CONTEXT_FACTORY, "com.sun.jndi.ldap.LdapCtxFactory");
    environment.put(Context.PROVIDER_URL, "ldap://127.0.0.1:" + PORT);
    LdapContext context = new InitialLdapContext(environment, null);
    try {
      StartTlsResponse secured = (StartTlsResponse) context.extendedOperation(new StartTlsRequest());
      secured.setHostnameVerifier((host, session) -> true);
      secured.negotiate(tls(withCertificate));
      for (Map.Entry<String, String> setting : settings.entrySet()) {
        context.addToEnvironment(setting.getKey(), setting.getValue());
      }
      context.reconnect(null);
      assertEquals("person", context.getAttributes(DN, new String[] {"objectClass"}).get("objectClass").contains("person") ? "person" : "");
    } finally {
      context.close();
    }
  }

  static Map<String, String> login(String mechanism, String user, String password) {
    return Map.of(Context.SECURITY_AUTHENTICATION, mechanism, Context.SECURITY_PRINCIPAL, user, Context.SECURITY_CREDENTIALS, password);
  }

  @Test
  void javaOverStartTls() throws Exception {
    naming(false, login("PLAIN", USER, PASSWORD));
    naming(false, login("simple", DN, PASSWORD));
    assertThrows(AuthenticationException.class, () -> naming(false, login("PLAIN", USER, "wrong")));
    naming(true, Map.of(Context.SECURITY_AUTHENTICATION, "EXTERNAL"));
    assertThrows(AuthenticationException.class, () -> naming(false, Map.of(Context.SECURITY_AUTHENTICATION, "EXTERNAL")));
    assertThrows(Exception.class, () -> naming(false, login("DIGEST-MD5", USER, PASSWORD)));
  }
}
