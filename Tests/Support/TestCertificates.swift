import ChildProcesses

/// Certificates for tests of TLS: an authority (`ca.pem`), a server for `localhost` (`server.pem`, `server.key`) and a client by the name
/// of `holder` (`client.pem`, `client.key`).
public enum TestCertificates {
    /// Creates them in an existing directory.
    public static func make(in directory: String) async throws {
        let script = """
            set -e; cd "$1"
            openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=authority -keyout ca.key -out ca.pem
            for pair in server:localhost client:holder; do
              name=${pair%:*}
              openssl req -newkey rsa:2048 -nodes -subj "/CN=${pair#*:}" -keyout $name.key -out $name.csr
              printf 'subjectAltName=DNS:localhost' > $name.ext
              openssl x509 -req -days 2 -in $name.csr -CA ca.pem -CAkey ca.key -CAcreateserial -extfile $name.ext -out $name.pem
            done
            """
        let made = try await CapturedRun.run("bash", ["-c", script, "bash", directory])
        guard made.status.isSuccess else { throw CertificatesFailure(description: made.output) }
    }

    private struct CertificatesFailure: Error, CustomStringConvertible {
        let description: String
    }
}
