package pushmark;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import org.apache.jmeter.reporters.ResultCollector;
import org.apache.jmeter.samplers.SampleResult;
import org.apache.jmeter.save.CSVSaveService;
import org.apache.jmeter.util.Calculator;
import org.apache.jmeter.util.JMeterUtils;
import org.apache.jmeter.visualizers.Visualizer;

/**
 * Opens a result file as JMeter's listeners do, and prints a line a label: label, samples, errors,
 * smallest, mean and largest elapsed ms.
 */
public final class ReadJtl {
    public static void main(String[] arguments) throws Exception {
        Path properties = Files.createTempFile("jmeter", ".properties");
        JMeterUtils.loadJMeterProperties(properties.toString());
        Map<String, Calculator> labels = new TreeMap<>();
        CSVSaveService.processSamples(arguments[0], new Visualizer() {
            @Override
            public void add(SampleResult sample) {
                labels.computeIfAbsent(sample.getSampleLabel(), Calculator::new).addSample(sample);
            }

            @Override
            public boolean isStats() {
                return false;
            }
        }, new ResultCollector());
        Files.delete(properties);
        labels.forEach((label, seen) -> System.out.printf(
            "%s,%d,%d,%d,%.3f,%d%n",
            label, seen.getCount(), Math.round(seen.getErrorPercentage() * seen.getCount()),
            seen.getMin(), seen.getMean(), seen.getMax()));
    }

    private ReadJtl() {
    }
}
