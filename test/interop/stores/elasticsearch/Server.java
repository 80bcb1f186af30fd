import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.spi.ToolProvider;
import org.elasticsearch.Build;
import org.elasticsearch.common.logging.LogConfigurator;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.env.Environment;
import org.elasticsearch.node.InternalSettingsPreparer;
import org.elasticsearch.node.Node;
import org.elasticsearch.plugins.PluginsLoader;

/** One node of Elasticsearch on loopback. Arguments: folder, port, path of Network.java. */
public final class Server {
    public static void main(String[] args) throws Exception {
        Path folder = Path.of(args[0]);
        Path plugin = Files.createDirectories(folder.resolve("plugins/network"));
        String classes = Files.createDirectories(folder.resolve("classes")).toString();
        String classPath = System.getProperty("java.class.path");
        run("javac", "-nowarn", "-cp", classPath, "-d", classes, args[2]);
        run("jar", "--create", "--file", plugin.resolve("network.jar").toString(), "-C", classes, ".");
        Settings settings = Settings.builder()
            .put("path.home", folder)
            .put("path.data", folder.resolve("data"))
            .put("cluster.name", "recalld")
            .put("node.name", "recalld")
            .put("discovery.type", "single-node")
            .put("http.port", args[1])
            .put("transport.type", "none")
            .put("http.type", "java")
            .put("cluster.routing.allocation.disk.threshold_enabled", false)
            .build();
        Files.createDirectories(folder.resolve("modules"));
        Files.createDirectories(folder.resolve("config"));
        Files.writeString(
            plugin.resolve("plugin-descriptor.properties"),
            String.join("\n", List.of(
                "name=network",
                "description=HTTP",
                "version=1",
                "elasticsearch.version=" + Build.current().version(),
                "java.version=17",
                "classname=Network"
            ))
        );
        LogConfigurator.configureWithoutConfig(settings);
        LogConfigurator.configureESLogging();
        Environment environment = InternalSettingsPreparer.prepareEnvironment(settings, Map.of(), null, () -> "recalld");
        Node node = new Node(
            environment,
            PluginsLoader.createPluginsLoader(
                PluginsLoader.loadModulesBundles(environment.modulesDir()),
                PluginsLoader.loadPluginsBundles(environment.pluginsDir()),
                Map.of(),
                false
            )
        );
        node.start();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            try {
                node.close();
            } catch (IOException e) {
                e.printStackTrace();
            }
        }));
        new CountDownLatch(1).await();
    }

    private static void run(String tool, String... args) {
        int code = ToolProvider.findFirst(tool).orElseThrow().run(System.out, System.err, args);
        if (code != 0) throw new IllegalStateException(tool + " ended with " + code);
    }
}
