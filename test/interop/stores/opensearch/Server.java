import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.concurrent.CountDownLatch;
import org.opensearch.analysis.common.CommonAnalysisPlugin;
import org.opensearch.common.logging.LogConfigurator;
import org.opensearch.common.settings.Setting;
import org.opensearch.common.settings.Settings;
import org.opensearch.knn.plugin.KNNPlugin;
import org.opensearch.node.InternalSettingsPreparer;
import org.opensearch.node.Node;
import org.opensearch.painless.PainlessPlugin;
import org.opensearch.plugins.ExtensiblePlugin;
import org.opensearch.plugins.Plugin;
import org.opensearch.plugins.ScriptPlugin;
import org.opensearch.script.ScriptContext;
import org.opensearch.script.ScriptEngine;
import org.opensearch.transport.Netty4Plugin;

/** One node of OpenSearch with its k-NN plugin, on loopback. Arguments: folder, port. */
public final class Server extends Node {
    /** Loads the k-NN plugin's functions into Painless, which does not find them if it is on the class path. */
    public static final class Painless extends Plugin implements ScriptPlugin {
        private final PainlessPlugin plugin = new PainlessPlugin();

        public Painless() {
            plugin.loadExtensions(new ExtensiblePlugin.ExtensionLoader() {
                @Override
                public <T> List<T> loadExtensions(Class<T> type) {
                    List<T> found = new ArrayList<>();
                    ServiceLoader.load(type, Server.class.getClassLoader()).forEach(found::add);
                    return found;
                }
            });
        }

        @Override
        public List<Setting<?>> getSettings() {
            return plugin.getSettings();
        }

        @Override
        public ScriptEngine getScriptEngine(Settings settings, Collection<ScriptContext<?>> contexts) {
            return plugin.getScriptEngine(settings, contexts);
        }
    }

    private Server(Settings settings, List<Class<? extends Plugin>> plugins) {
        super(InternalSettingsPreparer.prepareEnvironment(settings, Map.of(), null, () -> "recalld"), plugins, false);
    }

    public static void main(String[] args) throws Exception {
        Path folder = Path.of(args[0]);
        Settings settings = Settings.builder()
            .put("path.home", folder)
            .put("path.data", folder.resolve("data"))
            .put("cluster.name", "recalld")
            .put("discovery.type", "single-node")
            .put("network.host", "127.0.0.1")
            .put("http.port", args[1])
            .put("transport.port", "0")
            .put("transport.type", "netty4")
            .put("http.type", "netty4")
            .put("cluster.routing.allocation.disk.threshold_enabled", false)
            .build();
        LogConfigurator.configureWithoutConfig(settings);
        Server server = new Server(
            settings,
            List.of(Netty4Plugin.class, CommonAnalysisPlugin.class, Painless.class, KNNPlugin.class)
        );
        server.start();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            try {
                server.close();
            } catch (Exception e) {
                e.printStackTrace();
            }
        }));
        new CountDownLatch(1).await();
    }
}
