import BenchmarkRunner
import ChildProcesses
import Foundation
import LocalEngines

/// One nginx worker that answers everything with the same JSON.
struct Nginx {
    static let answer = #"{"deployment_model":"GLOBAL","location":"US-VA","hostname":"http://127.0.0.1:8080"}"#

    let port: Int

    static func start(in machine: Machine) async throws -> Nginx {
        let directory = try await machine.directory() + "/nginx"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let port = try LocalPort.free()
        try configuration(port, directory).write(
            toFile: directory + "/nginx.conf", atomically: true, encoding: .utf8)
        // Debian has it where only root looks.
        let child = try ChildProcess.spawn(
            "/usr/sbin/nginx", ["-p", directory, "-c", directory + "/nginx.conf", "-e", directory + "/error.log"],
            output: .file(directory + "/output"))
        await machine.atEnd { await child.terminate() }
        let end = ContinuousClock.now + .seconds(10)
        while !LocalPort.isTaken(port) {
            guard child.exitStatus == nil, ContinuousClock.now < end else {
                throw BenchmarkError("nginx doesn't start; see \(directory)")
            }
            try await Task.sleep(for: .milliseconds(20))  // no event tells that it listens
        }
        return Nginx(port: port)
    }

    private static func configuration(_ port: Int, _ directory: String) -> String {
        """
        daemon off;
        worker_processes 1;
        pid \(directory)/pid;
        events { worker_connections 1024; }
        http {
            access_log off;
            default_type application/json;
            keepalive_requests 1000000000;
            client_body_temp_path \(directory)/body;
            proxy_temp_path \(directory)/proxy;
            fastcgi_temp_path \(directory)/fastcgi;
            uwsgi_temp_path \(directory)/uwsgi;
            scgi_temp_path \(directory)/scgi;
            server {
                listen 127.0.0.1:\(port);
                location / { return 200 '\(answer)'; }
            }
        }

        """
    }
}
