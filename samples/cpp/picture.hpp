// Draws lines as an SVG.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

struct Line
{
    std::vector<float> values;
    const char* colour;
    const char* label;
};

/// Lines over a common horizontal axis. The vertical axis is that of the values, or of their decimal logarithms.
struct Panel
{
    std::string title;
    std::vector<Line> lines;
    bool logarithmic = false;
};

inline void draw(const char* path, const std::vector<Panel>& panels)
{
    constexpr double width = 360, height = 220, left = 60, top = 40;
    std::FILE* file = std::fopen(path, "w");
    if (!file)
    {
        std::perror(path);
        return;
    }
    std::fprintf(file, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g 290\" font-family=\"sans-serif\" font-size=\"12\">\n",
        static_cast<double>(panels.size()) * (width + left + 20));
    std::fprintf(file, "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n");
    for (std::size_t number = 0; number < panels.size(); ++number)
    {
        const Panel& panel = panels[number];
        const double start = static_cast<double>(number) * (width + left + 20) + left;
        const auto shown = [&](float value) { return panel.logarithmic ? std::log10(std::max(value, 1e-30f)) : value; };
        double low = 1e30, high = -1e30;
        for (const Line& line : panel.lines)
            for (float value : line.values)
            {
                low = std::min(low, static_cast<double>(shown(value)));
                high = std::max(high, static_cast<double>(shown(value)));
            }
        if (panel.logarithmic)
            low = std::floor(low), high = std::ceil(high);
        high = std::max(high, low + 1e-6);
        std::fprintf(file, "<text x=\"%g\" y=\"22\" font-weight=\"bold\">%s</text>\n", start, panel.title.c_str());
        std::fprintf(file, "<rect x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" fill=\"none\" stroke=\"#d0d7de\"/>\n", start, top, width, height);
        for (int tick = 0; tick <= 1; ++tick)
        {
            const double value = tick ? high : low;
            std::fprintf(file, "<text x=\"%g\" y=\"%g\" text-anchor=\"end\">%.3g</text>\n", start - 6,
                top + (tick ? 10 : height), panel.logarithmic ? std::pow(10.0, value) : value);
        }
        double label = start;
        for (const Line& line : panel.lines)
        {
            std::fprintf(file, "<polyline fill=\"none\" stroke-width=\"2\" stroke=\"%s\" points=\"", line.colour);
            for (std::size_t k = 0; k < line.values.size(); ++k)
                std::fprintf(file, "%.1f,%.1f ", start + width * static_cast<double>(k) / std::max<double>(1, static_cast<double>(line.values.size()) - 1),
                    top + height * (high - shown(line.values[k])) / (high - low));
            std::fprintf(file, "\"/>\n<text x=\"%g\" y=\"278\" fill=\"%s\">%s</text>\n", label, line.colour, line.label);
            label += 8.0 * static_cast<double>(std::string(line.label).size()) + 12;
        }
    }
    std::fprintf(file, "</svg>\n");
    std::fclose(file);
}
